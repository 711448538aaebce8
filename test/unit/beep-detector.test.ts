import { createSynthesizer, FLITE_VOICES } from '../../src/voice/audio/flite.js';
import { decodeMulaw } from '../../src/voice/audio/mulaw.js';
import { createBeepDetector } from '../../src/voice/audio/beep-detector.js';
import { dtmfTones } from '../../src/voice/audio/dtmf.js';
import { listenForTone } from '../../src/voice/session/mailbox-tone.js';
import { silence, tone } from '../support/spoken';

describe('listening for the tones of answering machines', () => {
  it('reports each tone if a message is to be left', () => {
    const audio = Buffer.concat([silence(200), tone(1_000, 500), silence(400), tone(1_000, 500), silence(200)]);
    const heardBy = (action: 'leave_message' | 'hang_up') => {
      const listener = listenForTone(action);
      const starts = Array.from({ length: Math.floor(audio.length / 160) }, (_, index) => index * 160);
      return starts.filter((at) => listener.hear(audio.subarray(at, at + 160), at / 8)).length;
    };
    expect(heardBy('leave_message')).toBe(2);
    expect(heardBy('hang_up')).toBe(0);
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
