import { createSynthesizer, FLITE_VOICES } from '../../src/audio/flite.js';
import { decodeMulaw, encodeMulaw } from '../../src/audio/mulaw.js';
import { createBeepDetector, dtmfTones, NotAKey } from '../../src/audio/tones.js';
import { silence } from '../support/spoken';

const tone = (hertz: number, ms: number, amplitude = 10_000) =>
  encodeMulaw(Int16Array.from({ length: ms * 8 }, (_, i) => amplitude * Math.sin((2 * Math.PI * hertz * i) / 8_000)));

/** Energy of one frequency (Goertzel). */
function energyAt(hertz: number, pcm: Int16Array): number {
  const factor = 2 * Math.cos((2 * Math.PI * hertz) / 8_000);
  let [last, beforeLast] = [0, 0];
  for (const sample of pcm) [last, beforeLast] = [sample + factor * last - beforeLast, last];
  return (last ** 2 + beforeLast ** 2 - factor * last * beforeLast) / pcm.length ** 2;
}

describe('dtmfTones', () => {
  const all = [697, 770, 852, 941, 1_209, 1_336, 1_477, 1_633];

  it.each([
    ['1', 697, 1_209],
    ['5', 770, 1_336],
    ['9', 852, 1_477],
    ['*', 941, 1_209],
    ['0', 941, 1_336],
    ['#', 941, 1_477],
    ['d', 941, 1_633],
  ])('plays the two tones of %s and no other', (key, low, high) => {
    const pcm = decodeMulaw(dtmfTones(key)).subarray(0, 800);
    const strongest = all.toSorted((a, b) => energyAt(b, pcm) - energyAt(a, pcm));
    expect(strongest.slice(0, 2).toSorted((a, b) => a - b)).toEqual([low, high]);
    expect(energyAt(high, pcm) / energyAt(strongest[2] ?? 0, pcm)).toBeGreaterThan(100);
  });

  it('gives each key 100 ms and 60 ms of silence, and w half a second', () => {
    expect(dtmfTones('12')).toHaveLength(2 * 160 * 8);
    expect([...dtmfTones('1').subarray(800)]).toEqual([...silence(60)]);
    expect(dtmfTones('1w2')).toHaveLength((2 * 160 + 500) * 8);
    expect(dtmfTones('')).toHaveLength(0);
  });

  it('refuses what is on no telephone', () => {
    expect(() => dtmfTones('12x')).toThrow(new NotAKey('x'));
  });
});

describe('the beep detector', () => {
  function beepsIn(...parts: readonly Uint8Array[]): number {
    const detector = createBeepDetector();
    const audio = Buffer.concat(parts);
    let beeps = 0;
    for (let at = 0; at + 160 <= audio.length; at += 160) {
      if (detector.push(decodeMulaw(audio.subarray(at, at + 160)))) beeps += 1;
    }
    return beeps;
  }

  it.each([440, 1_000, 1_400, 2_000])('hears one of %i Hz', (hertz) => {
    expect(beepsIn(silence(200), tone(hertz, 500), silence(200))).toBe(1);
  });

  it('hears a faint one', () => {
    expect(beepsIn(silence(200), tone(1_000, 300, 800), silence(200))).toBe(1);
  });

  it('takes neither keys, nor a click, nor a hum for one', () => {
    expect(beepsIn(dtmfTones('1590#'), silence(100))).toBe(0);
    expect(beepsIn(tone(1_000, 60), silence(100))).toBe(0);
    expect(beepsIn(tone(120, 2_000), silence(100))).toBe(0);
  });

  it.each(FLITE_VOICES)('takes no speech of %s for one', async (voice) => {
    const synthesizer = createSynthesizer();
    const text = 'Ooh, aah, you are far away. Please leave a message after the tone, and we will call you back soon.';
    const speech = await synthesizer.speak(text, voice);
    await synthesizer.close();
    expect(beepsIn(speech, silence(100))).toBe(0);
  });
});
