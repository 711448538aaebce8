import type { FliteVoice } from '../../../audio/flite.js';
import type { Engine, EngineCall, EngineEnd, EngineResult, EngineSink } from '../../port.js';
import type { CallerTurn, TurnTaking } from '../../turn-taking.js';
import { voiceNamed } from '../../voices.js';
import { ARE_YOU_THERE, GOODBYE, INTRODUCTION, openingOf, REPLIES, SILENT_GOODBYE } from './lines.js';
import { FEW_SECONDS_LEFT, TWENTY_SECONDS_LEFT } from './lines.js';

export interface DialogueTiming {
  /** Pause before the greeting: people put the phone to their ear first. */
  greetAfterMs: number;
  /** Mutual silence until the caller is asked whether they are there. */
  promptAfterMs: number;
  /** Silence of the caller until the call is ended. */
  endAfterMs: number;
}

export const DIALOGUE_TIMING: DialogueTiming = { greetAfterMs: 250, promptAfterMs: 10_000, endAfterMs: 30_000 };

/** Caller's voice over the agent's that makes it stop. */
const BARGE_IN_MS = 300;
/** A greeting of which less than this was heard is said again. */
const GREETING_HEARD_MS = 2_000;
/** An item counts as played this much after its length when no mark tells. */
const MARK_GRACE_MS = 3_000;
/** With less than this left, nobody says twenty. */
const ABOUT_TWENTY_SECONDS = 14;
/** A caller who goes on speaking is told of the end all the same after this time. */
const NOTICE_PATIENCE_MS = 4_000;
const TICK_MS = 200;
const BYTES_PER_MS = 8;
/** The engine understands no words, and the transcript says so. */
const CALLER_TEXT = '(speech)';

/** A line from the decision to say it until it was heard or cut off. */
interface Utterance {
  itemId: string;
  text: string;
  kind: 'greeting' | 'line' | 'prompt';
  startMs: number;
  /** Audio handed to the line; 0 while it is being made. */
  lengthMs: number;
  playedMs: number;
}

/**
 * One call of the offline engine: greets by the instruction's first sentence, answers each of the caller's turns with a
 * fixed line, asks into silence, says goodbye. It hears that the caller speaks, not what.
 */
export function createDialogue(deps: {
  name: string;
  speak(text: string, voice: FliteVoice): Promise<Uint8Array>;
  turnTaking: TurnTaking;
  timing: DialogueTiming;
}): Engine {
  const { turnTaking, timing } = deps;
  const origin = performance.now();
  const now = () => performance.now() - origin;
  let call: EngineCall | undefined;
  let sink: EngineSink | undefined;
  let ticking: NodeJS.Timeout | undefined;
  let stopped = false;
  let leaving = false;
  let saying: Utterance | undefined;
  let greetings = 0;
  let greeted = false;
  let itemCount = 0;
  let replies = 0;
  let spoken = 0;
  let heard = 0;
  let prompted = false;
  /** What is left to be said of the end that is forced. */
  let notice: { endsAtMs: number; sinceMs: number } | undefined;
  /** Since when nobody has said anything that counts: the caller's last word, or our last line but the prompt. */
  let quietSinceMs = 0;

  /** Speaks the parts as one item; the first is on its way before the next is made. */
  async function say(parts: readonly string[], kind: Utterance['kind']): Promise<void> {
    if (stopped || call === undefined || saying !== undefined) return;
    const itemId = `item-${++itemCount}`;
    const voice = voiceNamed(call.voice).flite;
    const mine: Utterance = { itemId, text: parts.join(' '), kind, startMs: now(), lengthMs: 0, playedMs: 0 };
    saying = mine;
    try {
      for (const text of parts) {
        const mulaw = await deps.speak(text, voice);
        if (stopped || saying !== mine) return;
        if (mine.lengthMs === 0) mine.startMs = now();
        mine.lengthMs += mulaw.length / BYTES_PER_MS;
        sink?.audio(itemId, mulaw);
      }
      sink?.endOfItem(itemId);
    } catch (error) {
      if (!stopped) sink?.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  function greet(): Promise<void> {
    greetings += 1;
    const opening = openingOf(call?.instruction ?? '');
    return say(opening === '' ? [INTRODUCTION] : [INTRODUCTION, opening], 'greeting');
  }

  async function leave(reason: EngineEnd, line: string): Promise<void> {
    if (leaving) return;
    leaving = true;
    await say([line], 'line');
    if (!stopped) sink?.end(reason);
  }

  /** The agent's line is over, heard to its end or cut off. */
  function finishUtterance(complete: boolean): void {
    if (saying === undefined) return;
    const { text, kind, startMs, playedMs, lengthMs } = saying;
    saying = undefined;
    if (kind === 'greeting' && (complete || playedMs >= GREETING_HEARD_MS)) greeted = true;
    if (kind !== 'prompt') quietSinceMs = now();
    if (playedMs === 0) return;
    spoken += 1;
    sink?.transcript({
      speaker: 'agent',
      text: complete ? text : `${wordsHeard(text, playedMs / lengthMs)} (interrupted)`,
      startMs: Math.round(startMs),
      endMs: Math.round(startMs + playedMs),
    });
  }

  function onCallerTurn(turn: CallerTurn): void {
    heard += 1;
    prompted = false;
    quietSinceMs = now();
    sink?.transcript({ speaker: 'caller', text: CALLER_TEXT, ...turn });
    if (stopped || leaving || saying !== undefined) return;
    if (!greeted && greetings < 2) return void greet();
    const reply = REPLIES[replies];
    replies += 1;
    if (reply === undefined) void leave('agent_hangup', GOODBYE);
    else void say([reply], 'line');
  }

  function tellOfEnd(): void {
    const secondsLeft = ((notice?.endsAtMs ?? 0) - now()) / 1_000;
    notice = undefined;
    void say([secondsLeft >= ABOUT_TWENTY_SECONDS ? TWENTY_SECONDS_LEFT : FEW_SECONDS_LEFT], 'prompt');
  }

  function tick(): void {
    if (saying !== undefined) {
      const { startMs, lengthMs } = saying;
      // Without marks the dialogue must not stand still.
      if (lengthMs > 0 && now() > startMs + lengthMs + MARK_GRACE_MS) finishUtterance(false);
      return;
    }
    if (leaving) return;
    const callerSpeaks = turnTaking.openTurn() !== undefined;
    if (notice !== undefined && (!callerSpeaks || now() - notice.sinceMs >= NOTICE_PATIENCE_MS)) return tellOfEnd();
    if (callerSpeaks) return;
    const quietMs = now() - quietSinceMs;
    if (quietMs >= timing.endAfterMs) void leave('silence', SILENT_GOODBYE);
    else if (quietMs >= timing.promptAfterMs && !prompted) {
      prompted = true;
      void say([ARE_YOU_THERE], 'prompt');
    }
  }

  return {
    name: deps.name,
    capabilities: { freeForm: false, dtmf: false, languages: ['en-US'] },

    async start(startedCall, startedSink) {
      call = startedCall;
      sink = startedSink;
      ticking = setInterval(tick, TICK_MS);
      await new Promise((resolve) => setTimeout(resolve, timing.greetAfterMs));
      // Who answers with a word gets an answer to it: the greeting comes after their turn.
      if (turnTaking.openTurn() === undefined && greetings === 0) await greet();
    },

    onCallerAudio(frame, timestampMs) {
      if (stopped) return;
      const { voiceMs, ended } = turnTaking.push(frame, timestampMs);
      if (voiceMs > 0) quietSinceMs = now();
      if (saying !== undefined && saying.lengthMs > 0 && !leaving && voiceMs >= BARGE_IN_MS) {
        sink?.clear();
        finishUtterance(false);
      }
      if (ended !== undefined) onCallerTurn(ended);
    },

    onDtmf() {
      quietSinceMs = now();
    },

    onPlayed(itemId, playedMs, complete) {
      if (saying?.itemId !== itemId) return;
      saying.playedMs = playedMs;
      if (complete) finishUtterance(true);
    },

    onEndingSoon(secondsLeft) {
      notice = { endsAtMs: now() + secondsLeft * 1_000, sinceMs: now() };
    },

    stop(): Promise<EngineResult> {
      stopped = true;
      clearInterval(ticking);
      finishUtterance(false);
      const openTurn = turnTaking.openTurn();
      if (openTurn !== undefined) onCallerTurn(openTurn);
      turnTaking.free();
      const seconds = Math.round(now() / 1_000);
      return Promise.resolve({
        summary:
          `Offline demo engine: spoke ${times(spoken)} and heard the caller ${times(heard)} in ${seconds} s; ` +
          'caller speech was not transcribed.',
        outputParameters: call?.outputTemplate ?? {},
      });
    },
  };
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}

/** About the words that were heard of a line that was cut off: whole words, by the share of its time. */
function wordsHeard(text: string, share: number): string {
  const words = text.split(' ');
  return words.slice(0, Math.max(1, Math.floor(words.length * Math.min(1, share)))).join(' ');
}
