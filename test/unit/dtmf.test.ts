import { createDtmfTones, DTMF_PATTERN } from '../../src/voice/audio/dtmf.js';
import { decodeMulaw, MULAW_SILENCE } from '../../src/voice/audio/mulaw.js';

const FREQUENCIES = [697, 770, 852, 941, 1_209, 1_336, 1_477, 1_633];

/** Returns the energy of the audio at a frequency, computed with Goertzel's algorithm. */
function energyAt(pcm: Int16Array, hertz: number): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * hertz) / 8_000);
  let [last, beforeLast] = [0, 0];
  for (const sample of pcm) [last, beforeLast] = [sample + coefficient * last - beforeLast, last];
  return last * last + beforeLast * beforeLast - coefficient * last * beforeLast;
}

function strongestTwo(pcm: Int16Array): number[] {
  return FREQUENCIES.toSorted((a, b) => energyAt(pcm, b) - energyAt(pcm, a))
    .slice(0, 2)
    .toSorted((a, b) => a - b);
}

describe('DTMF tones', () => {
  const { render } = createDtmfTones();

  it.each([
    ['1', 697, 1_209],
    ['5', 770, 1_336],
    ['9', 852, 1_477],
    ['0', 941, 1_336],
    ['*', 941, 1_209],
    ['#', 941, 1_477],
    ['A', 697, 1_633],
    ['D', 941, 1_633],
  ])('makes %s a pair of %d and %d Hz', (key, low, high) => {
    const tone = decodeMulaw(render(key).slice(0, 800));
    expect(strongestTwo(tone)).toEqual([low, high]);
    expect(Math.max(...tone)).toBeLessThan(32_000);
  });

  it('gives each digit 100 ms of tone and 60 ms of silence, and a comma half a second of silence', () => {
    const bytes = render('4,2');
    expect(bytes).toHaveLength((160 + 500 + 160) * 8);
    expect(bytes.slice(800, 1_280 + 4_000).every((byte) => byte === MULAW_SILENCE)).toBe(true);
    expect(strongestTwo(decodeMulaw(bytes.slice(5_280, 6_080)))).toEqual([697, 1_336]);
  });

  it('are the same each time, and each is computed once', () => {
    const sines = jest.spyOn(Math, 'sin');
    try {
      const tones = createDtmfTones();
      const first = tones.render('0123456789*#ABCD,1');
      const computed = sines.mock.calls.length;
      for (let time = 0; time < 10; time++) expect(tones.render('0123456789*#ABCD,1')).toEqual(first);
      expect(computed).toBe(16 * 2 * 800);
      expect(sines.mock.calls).toHaveLength(computed);
    } finally {
      sines.mockRestore();
    }
  });

  it('rejects characters that are no DTMF digits', () => {
    expect(() => render('12x')).toThrow(RangeError);
    expect(['1', '0#*,D', '1'.repeat(32)].every((text) => DTMF_PATTERN.test(text))).toBe(true);
    expect(['', 'e', '1 2', '1'.repeat(33)].some((text) => DTMF_PATTERN.test(text))).toBe(false);
  });
});
