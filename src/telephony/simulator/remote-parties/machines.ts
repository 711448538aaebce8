import { encodeMulaw } from '../../../voice/audio/mulaw.js';
import type { RemotePartyScript } from '../remote-party-script.js';
import type { RemoteParty, RemotePartyDeps } from './port.js';
import { createSpeechPlayer, framesIn } from './speech-player.js';

type Script<K extends RemotePartyScript['kind']> = Extract<RemotePartyScript, { kind: K }>;

const ignoresAudio = { receiveFrame: () => undefined, playbackCleared: () => undefined, close: () => undefined };

/** A remote party that stays silent. */
export function createSilentParty(): RemoteParty {
  return { ...ignoresAudio, nextFrame: () => undefined };
}

/** A remote party that stays silent and hangs up after a scripted time. */
export function createHangUpParty(script: Script<'hangUp'>, deps: RemotePartyDeps): RemoteParty {
  let framesLeft = framesIn(script.afterSeconds * deps.timeScale);
  return {
    ...ignoresAudio,
    nextFrame() {
      if (framesLeft-- <= 0) deps.hangUp();
      return undefined;
    },
  };
}

/** A remote party that repeats its text without listening. */
export function createTalkerParty(script: Script<'talker'>, deps: RemotePartyDeps): RemoteParty {
  const player = createSpeechPlayer(deps.voices);
  return {
    ...ignoresAudio,
    nextFrame() {
      if (!player.isBusy()) player.say(script.text);
      return player.nextFrame();
    },
  };
}

const BEEP_HERTZ = 1_000;
const BEEP_SECONDS = 0.5;

/** An answering machine: plays its greeting and a beep, records, and hangs up after a scripted time. */
export function createVoicemail(script: Script<'voicemail'>, deps: RemotePartyDeps): RemoteParty {
  const player = createSpeechPlayer(deps.voices);
  let step: 'greeting' | 'beep' | 'recording' = 'greeting';
  let framesLeft = framesIn(script.hangUpAfterBeepSeconds * deps.timeScale);
  player.say(script.greeting);
  return {
    ...ignoresAudio,
    nextFrame() {
      if (player.isBusy()) return player.nextFrame();
      if (step === 'greeting') {
        step = 'beep';
        player.play(beep());
        return player.nextFrame();
      }
      if (step === 'beep') deps.beepEnded();
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
