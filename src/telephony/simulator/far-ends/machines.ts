import { encodeMulaw } from '../../../voice/audio/mulaw.js';
import type { FarEndScript } from '../far-end-script.js';
import type { FarEnd, FarEndDeps } from './port.js';
import { createFarMouth, framesIn } from './mouth.js';

type Script<K extends FarEndScript['kind']> = Extract<FarEndScript, { kind: K }>;

const deaf = { hear: () => undefined, cleared: () => undefined, close: () => undefined };

/** A remote party that stays silent. */
export function createSilent(): FarEnd {
  return { ...deaf, speak: () => undefined };
}

/** A remote party that stays silent and hangs up after a scripted time. */
export function createHangUp(script: Script<'hangUp'>, deps: FarEndDeps): FarEnd {
  let framesLeft = framesIn(script.afterSeconds * deps.timeScale);
  return {
    ...deaf,
    speak() {
      if (framesLeft-- <= 0) deps.hangUp();
      return undefined;
    },
  };
}

/** A remote party that repeats its text without listening. */
export function createTalker(script: Script<'talker'>, deps: FarEndDeps): FarEnd {
  const mouth = createFarMouth(deps.voices);
  return {
    ...deaf,
    speak() {
      if (!mouth.busy()) mouth.say(script.text);
      return mouth.next();
    },
  };
}

const BEEP_HERTZ = 1_000;
const BEEP_SECONDS = 0.5;

/** An answering machine: plays its greeting and a beep, records, and hangs up after a scripted time. */
export function createMailbox(script: Script<'voicemail'>, deps: FarEndDeps): FarEnd {
  const mouth = createFarMouth(deps.voices);
  let step: 'greeting' | 'beep' | 'recording' = 'greeting';
  let framesLeft = framesIn(script.hangUpAfterBeepSeconds * deps.timeScale);
  mouth.say(script.greeting);
  return {
    ...deaf,
    speak() {
      if (mouth.busy()) return mouth.next();
      if (step === 'greeting') {
        step = 'beep';
        mouth.play(beep());
        return mouth.next();
      }
      if (step === 'beep') deps.beeped();
      step = 'recording';
      if (framesLeft-- <= 0) deps.hangUp();
      return undefined;
    },
  };
}

function beep(): Uint8Array {
  const samples = Int16Array.from({ length: 8_000 * BEEP_SECONDS }, (_, i) =>
    Math.round(10_000 * Math.sin((2 * Math.PI * BEEP_HERTZ * i) / 8_000)),
  );
  return encodeMulaw(samples);
}
