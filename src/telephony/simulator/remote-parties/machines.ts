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
        if (script.greetingEnd === 'beep') player.play(tone(BEEP_HERTZ, BEEP_SECONDS));
        return player.nextFrame();
      }
      if (step === 'beep') deps.greetingEnded(script.greetingEnd);
      step = 'recording';
      if (framesLeft-- <= 0) deps.hangUp();
      return undefined;
    },
  };
}

/** The tone with which a fax machine answers (CED: 2,100 Hz for about 3 s), and seconds until it hangs up. */
const FAX_HERTZ = 2_100;
const FAX_TONE_SECONDS = 3;
const FAX_WAIT_SECONDS = 20;

/** A fax machine that answers a voice call. */
export function createFax(deps: RemotePartyDeps): RemoteParty {
  const player = createSpeechPlayer(deps.voices);
  let framesLeft = framesIn(FAX_WAIT_SECONDS * deps.timeScale);
  player.play(tone(FAX_HERTZ, FAX_TONE_SECONDS));
  return {
    ...ignoresAudio,
    nextFrame() {
      if (player.isBusy()) return player.nextFrame();
      if (framesLeft-- <= 0) deps.hangUp();
      return undefined;
    },
  };
}

function tone(hertz: number, seconds: number): Uint8Array {
  const samples = Int16Array.from({ length: 8_000 * seconds }, (_, i) =>
    Math.round(10_000 * Math.sin((2 * Math.PI * hertz * i) / 8_000)),
  );
  return encodeMulaw(samples);
}
