import { createSynthesizer, FLITE_VOICES } from '../../src/voice/audio/flite.js';
import { decodeMulaw } from '../../src/voice/audio/mulaw.js';
import { createBeepDetector } from '../../src/voice/audio/beep-detector.js';
import { createDtmfTones } from '../../src/voice/audio/dtmf.js';
import { createToneDetector } from '../../src/voice/session/voicemail-tone.js';
import { silence, tone } from '../support/spoken';

describe('the detection of answering machine tones', () => {
  it('reports each tone if the agent is to leave a message, and none if it hangs up', () => {
    const audio = Buffer.concat([silence(200), tone(1_000, 500), silence(400), tone(1_000, 500), silence(200)]);
    const countReportedTones = (action: 'leave_message' | 'hang_up') => {
      const listener = createToneDetector(action);
      const starts = Array.from({ length: Math.floor(audio.length / 160) }, (_, index) => index * 160);
      return starts.filter((at) => listener.push(audio.subarray(at, at + 160), at / 8)).length;
    };
    expect(countReportedTones('leave_message')).toBe(2);
    expect(countReportedTones('hang_up')).toBe(0);
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

  it.each([440, 1_000, 1_400, 2_000])('detects a beep of %i Hz', (hertz) => {
    expect(beepsIn(silence(200), tone(hertz, 500), silence(200))).toBe(1);
  });

  it('detects a quiet beep', () => {
    expect(beepsIn(silence(200), tone(1_000, 300, 800), silence(200))).toBe(1);
  });

  it('ignores DTMF, a click and a hum', () => {
    expect(beepsIn(createDtmfTones().render('1590#'), silence(100))).toBe(0);
    expect(beepsIn(tone(1_000, 60), silence(100))).toBe(0);
    expect(beepsIn(tone(120, 2_000), silence(100))).toBe(0);
  });

  it.each(FLITE_VOICES)('ignores speech of the voice %s', async (voice) => {
    const synthesizer = createSynthesizer();
    const text = 'Ooh, aah, you are far away. Please leave a message after the tone, and we will call you back soon.';
    const speech = await synthesizer.speak(text, voice);
    await synthesizer.close();
    expect(beepsIn(speech, silence(100))).toBe(0);
  });
});
