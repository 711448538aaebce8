/** Bytes of a canonical WAV header. */
export const WAV_HEADER_BYTES = 44;

/**
 * The 44-byte header of a WAV file with 16-bit linear samples.
 * @param dataBytes length of what follows; for a file whose end is not known yet write 0 and replace the header later
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

/** Samples as the little-endian bytes a WAV file holds. */
export function pcmBytes(pcm: Int16Array): Buffer {
  const bytes = Buffer.alloc(pcm.length * 2);
  for (let i = 0; i < pcm.length; i++) bytes.writeInt16LE(pcm[i] ?? 0, i * 2);
  return bytes;
}
