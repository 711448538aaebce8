import { encodeMulaw } from '../../../audio/mulaw.js';
import type { TextToSpeech } from '../ports.js';

const SAMPLES_PER_CHARACTER = 480;

/** A voice that hums each sentence: 60 ms of a tone for each character. */
export function createToneVoice(): TextToSpeech {
  return {
    open(_voice, _language, events) {
      let over = false;
      return {
        say(text) {
          if (over) return;
          const samples = Int16Array.from(
            { length: text.length * SAMPLES_PER_CHARACTER },
            (_, n) => 8_000 * Math.sin(n / 3),
          );
          events.onAudio(Buffer.from(encodeMulaw(samples)));
          events.onSpoken(text);
        },
        finish() {
          if (!over) events.onDone();
          over = true;
        },
        cancel() {
          over = true;
        },
      };
    },
  };
}
