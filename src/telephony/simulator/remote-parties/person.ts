import type { PersonLine, PersonScript } from '../remote-party-script.js';
import { REPROMPT } from '../voices.js';
import { createSpeechMeter } from './speech-meter.js';
import type { RemoteParty, RemotePartyDeps } from './port.js';
import { createSpeechPlayer, framesIn } from './speech-player.js';

/** Sounds shorter than this do not count as a turn. */
const TURN_MIN = framesIn(0.2);
/** After the agent has paused for this long, the person speaks. */
const TURN_PAUSE = framesIn(0.8);
/** A pause of the agent that is shorter than this is a gap between words. */
const WORD_PAUSE = framesIn(0.3);
const NUDGE_AFTER = framesIn(5);
/** How long to wait for the agent's goodbye after the person's goodbye, and how long to listen to it. */
const GOODBYE_WAIT = framesIn(3);
const GOODBYE_MAX = framesIn(8);
/** Interval between two DTMF digits. */
const DIGIT_INTERVAL = framesIn(0.3);

type State = 'listening' | 'talking' | 'pressing' | 'waiting' | 'closing' | 'hungUp';

/**
 * Simulates a person. The person lets the agent finish, goes through the script turn by turn (interrupting the agent
 * where the script says so), says goodbye after the last turn and hangs up. The script fails when it takes longer than
 * `timeoutSeconds`.
 */
export function createPerson(script: PersonScript, deps: RemotePartyDeps): RemoteParty {
  const player = createSpeechPlayer(deps.voices);
  const meter = createSpeechMeter(() => deps.newDetector());
  const lines = [...script.lines];
  let state: State = 'listening';
  let saidGoodbye = false;
  let nudges = 0;
  let framesLeft = framesIn(script.timeoutSeconds);
  let digits: string[] = [];
  let pauseLeft = 0;

  function listen(): void {
    state = saidGoodbye ? 'closing' : 'listening';
    meter.restart();
  }

  function say(did: 'said' | 'interrupted' | 'nudged', text: string): void {
    state = 'talking';
    deps.recordStep({ did, text });
    player.say(text);
  }

  function endScript(did: 'finished' | 'timeout'): void {
    if (state === 'hungUp') return;
    state = 'hungUp';
    deps.recordStep({ did });
    deps.hangUp();
  }

  function takeTurn(): void {
    const line = lines.shift();
    if (line !== undefined) return begin(line, false);
    if (script.goodbye === null) return endScript('finished');
    saidGoodbye = true;
    say('said', script.goodbye);
  }

  function begin(line: PersonLine, interrupting: boolean): void {
    if (typeof line === 'string') say('said', line);
    else if ('say' in line) say(interrupting ? 'interrupted' : 'said', line.say);
    else if ('digits' in line) {
      state = 'pressing';
      deps.recordStep({ did: 'keyed', text: line.digits });
      digits = line.digits.split('');
      pauseLeft = 0;
    } else {
      state = 'waiting';
      deps.recordStep({ did: 'waited' });
      pauseLeft = framesIn(line.waitSeconds * deps.timeScale);
    }
  }

  /** Whether the agent has been speaking for the time given in the next turn of the script, and is still speaking. */
  function isTimeToInterrupt(): boolean {
    const [next] = lines;
    if (next === undefined || typeof next === 'string' || !('say' in next)) return false;
    const { interruptAfterSeconds: after } = next;
    return (
      after !== undefined &&
      meter.pauseFrames <= WORD_PAUSE &&
      meter.speechFrames >= Math.max(TURN_MIN, framesIn(after))
    );
  }

  function decide(): void {
    const agentFinished = meter.speechFrames >= TURN_MIN && meter.pauseFrames >= TURN_PAUSE;
    const agentSilent = meter.speechFrames < TURN_MIN;
    if (state === 'listening') {
      const interrupting = isTimeToInterrupt() ? lines.shift() : undefined;
      if (interrupting !== undefined) begin(interrupting, true);
      else if (agentFinished) takeTurn();
      else if (agentSilent && meter.totalFrames >= NUDGE_AFTER) {
        if (nudges++ < script.nudges) say('nudged', REPROMPT);
        else takeTurn();
      }
    } else if (
      agentFinished ||
      meter.totalFrames >= GOODBYE_MAX ||
      (agentSilent && meter.totalFrames >= GOODBYE_WAIT)
    ) {
      endScript('finished');
    }
  }

  function pressNextDigit(): void {
    if (pauseLeft-- > 0) return;
    const digit = digits.shift();
    if (digit === undefined) return listen();
    deps.pressDigit(digit);
    pauseLeft = DIGIT_INTERVAL;
  }

  return {
    receiveFrame(frame) {
      meter.addFrame(frame);
    },
    playbackCleared() {
      meter.playbackCleared();
      // The rest of an interrupted sentence does not count as a turn of the agent.
      if (state === 'listening') meter.restart();
    },
    nextFrame() {
      if (framesLeft-- <= 0) endScript('timeout');
      if (state === 'listening' || state === 'closing') decide();
      if (state === 'pressing') pressNextDigit();
      else if (state === 'waiting' && pauseLeft-- <= 0) takeTurn();
      if (state !== 'talking') return undefined;
      const frame = player.nextFrame();
      if (frame === undefined && !player.isBusy()) listen();
      return frame;
    },
    close: () => meter.close(),
  };
}
