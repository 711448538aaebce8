import { decodeMulaw } from '../../../audio/mulaw.js';
import type { FarEndScript } from '../scenario.js';
import { NUDGE } from '../voices.js';
import type { FarEnd, FarEndDeps } from './far-end.js';
import { createMouth, FRAMES_PER_SECOND } from './mouth.js';

const frames = (seconds: number) => seconds * FRAMES_PER_SECOND;

/** Louder than this on average over 20 ms is speech; synthetic speech is above 1,000, a quiet line near 0. */
const SPEECH_RMS = 250;

/** Shorter sounds than this are no turn. */
const TURN_MIN = frames(0.2);
/** So long a pause and it is the person's turn. */
const TURN_PAUSE = frames(0.8);
const NUDGE_AFTER = frames(5);
const MAX_NUDGES = 2;
/** After the goodbye: how long to wait for the agent's, and how long to listen to it. */
const FAREWELL_WAIT = frames(3);
const FAREWELL_MAX = frames(8);
/** Whatever happens, a person hangs up after this. */
const PATIENCE = frames(60);

/** A person who lets the agent finish, says a line, and after the last one says goodbye and hangs up. */
export function createPerson(script: Extract<FarEndScript, { kind: 'person' }>, deps: FarEndDeps): FarEnd {
  const mouth = createMouth(deps.voices);
  const lines = [...script.lines];
  let state: 'listening' | 'talking' | 'leaving' = 'listening';
  let saidGoodbye = false;
  let nudges = 0;
  let lifetime = 0;
  let heard = { speech: 0, pause: 0, all: 0 };

  function listen(next: 'listening' | 'leaving'): void {
    state = next;
    heard = { speech: 0, pause: 0, all: 0 };
  }

  function say(text: string): void {
    state = 'talking';
    mouth.say(text);
  }

  function takeTurn(): void {
    const line = lines.shift();
    saidGoodbye = line === undefined;
    say(line ?? script.goodbye);
  }

  function decide(): void {
    const agentFinished = heard.speech >= TURN_MIN && heard.pause >= TURN_PAUSE;
    const agentSilent = heard.speech < TURN_MIN;
    if (state === 'listening') {
      if (agentFinished) takeTurn();
      else if (agentSilent && heard.all >= NUDGE_AFTER) {
        if (nudges++ < MAX_NUDGES) say(NUDGE);
        else takeTurn();
      }
    } else if (agentFinished || heard.all >= FAREWELL_MAX || (agentSilent && heard.all >= FAREWELL_WAIT)) {
      deps.hangUp();
    }
  }

  return {
    hear(frame) {
      if (state === 'talking') return;
      heard.all++;
      if (frame !== undefined && isSpeech(frame)) {
        heard.speech++;
        heard.pause = 0;
      } else {
        heard.pause++;
      }
    },
    cleared() {
      // The rest of a sentence that was broken off is no turn of the agent.
      if (state === 'listening') listen('listening');
    },
    speak() {
      if (++lifetime >= PATIENCE) deps.hangUp();
      if (state !== 'talking') decide();
      if (state !== 'talking') return undefined;
      const frame = mouth.next();
      if (frame === undefined && !mouth.busy()) listen(saidGoodbye ? 'leaving' : 'listening');
      return frame;
    },
  };
}

function isSpeech(frame: Uint8Array): boolean {
  let sum = 0;
  for (const sample of decodeMulaw(frame)) sum += sample * sample;
  return Math.sqrt(sum / frame.length) > SPEECH_RMS;
}
