import type { PersonLine, PersonScript } from '../far-end-script.js';
import { NUDGE } from '../voices.js';
import { createFarEar } from './ear.js';
import type { FarEnd, FarEndDeps } from './port.js';
import { createFarMouth, framesIn } from './mouth.js';

/** Sounds shorter than this do not count as a turn. */
const TURN_MIN = framesIn(0.2);
/** After a pause this long it is the person's turn. */
const TURN_PAUSE = framesIn(0.8);
/** Pauses up to this length are gaps between words. */
const WORD_PAUSE = framesIn(0.3);
const NUDGE_AFTER = framesIn(5);
/** After the person's goodbye: how long to wait for the agent's goodbye, and how long to listen to it. */
const FAREWELL_WAIT = framesIn(3);
const FAREWELL_MAX = framesIn(8);
/** Interval between two DTMF digits. */
const KEY_FRAMES = framesIn(0.3);

type State = 'listening' | 'talking' | 'keying' | 'waiting' | 'leaving' | 'gone';

/**
 * Simulates a person who lets the agent finish, takes the turns of the script one by one (interrupting the agent where
 * the script says so), says goodbye after the last one and hangs up. The script fails when it takes longer than
 * `patienceSeconds`.
 */
export function createPerson(script: PersonScript, deps: FarEndDeps): FarEnd {
  const mouth = createFarMouth(deps.voices);
  const ear = createFarEar(() => deps.newDetector());
  const lines = [...script.lines];
  let state: State = 'listening';
  let saidGoodbye = false;
  let nudges = 0;
  let framesLeft = framesIn(script.patienceSeconds);
  let keys: string[] = [];
  let pauseLeft = 0;

  function listen(): void {
    state = saidGoodbye ? 'leaving' : 'listening';
    ear.restart();
  }

  function say(did: 'said' | 'interrupted' | 'nudged', text: string): void {
    state = 'talking';
    deps.note({ did, text });
    mouth.say(text);
  }

  function leave(did: 'finished' | 'timeout'): void {
    if (state === 'gone') return;
    state = 'gone';
    deps.note({ did });
    deps.hangUp();
  }

  function takeTurn(): void {
    const line = lines.shift();
    if (line !== undefined) return begin(line, false);
    if (script.goodbye === null) return leave('finished');
    saidGoodbye = true;
    say('said', script.goodbye);
  }

  function begin(line: PersonLine, interrupting: boolean): void {
    if (typeof line === 'string') say('said', line);
    else if ('say' in line) say(interrupting ? 'interrupted' : 'said', line.say);
    else if ('keys' in line) {
      state = 'keying';
      deps.note({ did: 'keyed', text: line.keys });
      keys = line.keys.split('');
      pauseLeft = 0;
    } else {
      state = 'waiting';
      deps.note({ did: 'waited' });
      pauseLeft = framesIn(line.waitSeconds * deps.timeScale);
    }
  }

  /** Whether the agent has been speaking for as long as the next line allows and is still speaking. */
  function isTimeToInterrupt(): boolean {
    const [next] = lines;
    if (next === undefined || typeof next === 'string' || !('say' in next)) return false;
    const { interruptAfterSeconds: after } = next;
    return after !== undefined && ear.pause <= WORD_PAUSE && ear.speech >= Math.max(TURN_MIN, framesIn(after));
  }

  function decide(): void {
    const agentFinished = ear.speech >= TURN_MIN && ear.pause >= TURN_PAUSE;
    const agentSilent = ear.speech < TURN_MIN;
    if (state === 'listening') {
      const interrupting = isTimeToInterrupt() ? lines.shift() : undefined;
      if (interrupting !== undefined) begin(interrupting, true);
      else if (agentFinished) takeTurn();
      else if (agentSilent && ear.all >= NUDGE_AFTER) {
        if (nudges++ < script.nudges) say('nudged', NUDGE);
        else takeTurn();
      }
    } else if (agentFinished || ear.all >= FAREWELL_MAX || (agentSilent && ear.all >= FAREWELL_WAIT)) {
      leave('finished');
    }
  }

  function keepPressing(): void {
    if (pauseLeft-- > 0) return;
    const key = keys.shift();
    if (key === undefined) return listen();
    deps.press(key);
    pauseLeft = KEY_FRAMES;
  }

  return {
    hear(frame) {
      ear.hear(frame);
    },
    cleared() {
      ear.cleared();
      // The rest of an interrupted sentence does not count as a turn of the agent.
      if (state === 'listening') ear.restart();
    },
    speak() {
      if (framesLeft-- <= 0) leave('timeout');
      if (state === 'listening' || state === 'leaving') decide();
      if (state === 'keying') keepPressing();
      else if (state === 'waiting' && pauseLeft-- <= 0) takeTurn();
      if (state !== 'talking') return undefined;
      const frame = mouth.next();
      if (frame === undefined && !mouth.busy()) listen();
      return frame;
    },
    close: () => ear.close(),
  };
}
