import { endianness } from 'node:os';

/** Size of a canonical WAV header in bytes. */
export const WAV_HEADER_BYTES = 44;

/**
 * The 44-byte header of a WAV file with 16-bit linear samples.
 * @param format.dataBytes length of the data that follows; if unknown, write 0 and replace the header later
 */
export function wavHeader(format: { sampleRate: number; channels: number; dataBytes: number }): Buffer {
  const header = Buffer.alloc(WAV_HEADER_BYTES);
  const frameBytes = format.channels * 2;
  header.write('RIFF', 0, 'ascii');
  header.writeUInt32LE(WAV_HEADER_BYTES - 8 + format.dataBytes, 4);
  header.write('WAVEfmt ', 8, 'ascii');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(format.channels, 22);
  header.writeUInt32LE(format.sampleRate, 24);
  header.writeUInt32LE(format.sampleRate * frameBytes, 28);
  header.writeUInt16LE(frameBytes, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'ascii');
  header.writeUInt32LE(format.dataBytes, 40);
  return header;
}

/**
 * Returns samples as the little-endian bytes of a WAV file. On nearly all machines the bytes share the memory of the
 * samples.
 * @param byteOrder the byte order of `pcm`
 */
export function pcmBytes(pcm: Int16Array, byteOrder = endianness()): Buffer {
  const bytes = Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength);
  return byteOrder === 'LE' ? bytes : Buffer.from(bytes).swap16();
}
