import { createSynthesizer, FLITE_VOICES } from '../../src/voice/audio/flite.js';
import { decodeMulaw, encodeMulaw, MULAW_SILENCE } from '../../src/voice/audio/mulaw.js';
import { halveSampleRate } from '../../src/voice/audio/resample.js';
import { pcmBytes, wavHeader } from '../../src/voice/audio/wav.js';

const rms = (pcm: Int16Array) => Math.sqrt(pcm.reduce((sum, value) => sum + value * value, 0) / pcm.length);
const tone = (hertz: number, rate: number, length = rate) =>
  Int16Array.from({ length }, (_, i) => Math.round(10_000 * Math.sin((2 * Math.PI * hertz * i) / rate)));

describe('mu-law', () => {
  it('encodes and decodes the reference points of G.711', () => {
    expect([...encodeMulaw(Int16Array.of(0, 32_767, -32_768, 1_000, -1_000))]).toEqual([0xff, 0x80, 0x00, 0xce, 0x4e]);
    expect([...decodeMulaw(Uint8Array.of(MULAW_SILENCE, 0x80, 0x00, 0xce))]).toEqual([0, 32_124, -32_124, 988]);
  });

  it('keeps every code through a decode and an encode, except the negative zero', () => {
    const codes = Uint8Array.from({ length: 256 }, (_, i) => i);
    const again = encodeMulaw(decodeMulaw(codes));
    expect([...again].filter((code, i) => code !== i)).toEqual([0xff]);
  });
});

describe('halveSampleRate', () => {
  it('keeps a tone of the telephone band', () => {
    const out = halveSampleRate(tone(1_000, 16_000));
    expect(out).toHaveLength(8_000);
    expect(rms(out) / rms(tone(1_000, 16_000))).toBeCloseTo(1, 1);
  });

  it('removes frequencies that would alias into the telephone band', () => {
    expect(rms(halveSampleRate(tone(6_000, 16_000)))).toBeLessThan(200);
  });
});

describe('wav', () => {
  it('describes 16-bit linear samples', () => {
    const header = wavHeader({ sampleRate: 8_000, channels: 1, dataBytes: 320 });
    expect(header).toHaveLength(44);
    expect(header.toString('ascii', 0, 4)).toBe('RIFF');
    expect(header.readUInt32LE(4)).toBe(356);
    expect(header.readUInt32LE(28)).toBe(16_000);
    expect(header.readUInt32LE(40)).toBe(320);
    expect([...pcmBytes(Int16Array.of(1, -2))]).toEqual([1, 0, 0xfe, 0xff]);
  });

  it('has the bytes of every sample, also of a part of a longer recording', () => {
    const all = Int16Array.from({ length: 65_536 }, (_, n) => n - 32_768);
    const expected = Buffer.alloc(all.byteLength);
    all.forEach((sample, n) => expected.writeInt16LE(sample, 2 * n));
    expect(pcmBytes(all).equals(expected)).toBe(true);
    expect(pcmBytes(all.subarray(1_001, 60_000)).equals(expected.subarray(2_002, 120_000))).toBe(true);
  });

  it('has little-endian bytes on a machine with the other byte order, whose samples stay as they are', () => {
    const samples = new Int16Array(Uint8Array.of(0x12, 0x34, 0xff, 0xfe).buffer);
    expect([...pcmBytes(samples, 'BE')]).toEqual([0x34, 0x12, 0xfe, 0xff]);
    expect([...pcmBytes(samples, 'BE')]).toEqual([0x34, 0x12, 0xfe, 0xff]);
  });
});

describe('the synthesizer', () => {
  const synthesizer = createSynthesizer();
  afterAll(() => synthesizer.close());

  it.each(FLITE_VOICES)('speaks with the voice %s', async (voice) => {
    const mulaw = await synthesizer.speak('Hello there, this is a test.', voice);
    expect(mulaw.length).toBeGreaterThan(8_000);
    expect(mulaw.length).toBeLessThan(40_000);
    expect(rms(decodeMulaw(mulaw))).toBeGreaterThan(500);
  });

  it('returns concurrent requests their own audio', async () => {
    const [short, long] = await Promise.all([
      synthesizer.speak('Yes.', 'slt'),
      synthesizer.speak('Yes, I would like that very much, thank you for asking.', 'slt'),
    ]);
    expect(long.length).toBeGreaterThan(2 * short.length);
  });

  it('rejects speech after it is closed', async () => {
    const other = createSynthesizer();
    await other.close();
    await expect(other.speak('Hello.', 'slt')).rejects.toThrow('closed');
  });
});
