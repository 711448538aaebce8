import type { Grammar } from '../../audio/grammar.js';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import type { ReplyTask } from '../../session/reducer/kinds.js';
import { FEW_SECONDS_LEFT, TWENTY_SECONDS_LEFT } from './lines.js';
import type { LineOver } from './mouth.js';
import type { Heard, Script, ScriptedReply } from './script.js';

/** Of a line that is cut off before this nobody knows what it asks. */
const QUESTION_HEARD_MS = 1_000;
/** With less than this left, nobody says twenty. */
const ABOUT_TWENTY_SECONDS = 14;
const BEFORE_GREETING: Grammar = { kind: 'commands' };
/** What is said to a question that was not heard is no answer to it. */
const REPEAT: Heard = { outcome: 'understood', text: '', meaning: { kind: 'command', command: 'repeat' } };

export type ScriptedModel = ReturnType<typeof createScriptedModel>;

/** Stands where other engines have a model: knows what was said and pressed, and by the script what to say to it. */
export function createScriptedModel(p: {
  script: Script;
  /** Who speaks, and what about. */
  introduction: readonly string[];
  /** The line broke after the introduction and is back. */
  resumed?: boolean;
  /** Ms from the start of the stream. */
  now: () => number;
}) {
  const { script, introduction, now } = p;
  let heard: Heard | undefined;
  /** What the script says to the keys pressed last. */
  let keyed: ScriptedReply | undefined;
  /** The greeting was heard, or is not said any more. */
  let greeted = false;
  /** The last line was cut off before its question could be heard. */
  let unheard = false;
  /** The caller was not told yet that the line broke. */
  let bridgeIsDue = p.resumed ?? false;
  let isBridging = false;
  /** The end that the caller was not told of yet. */
  let endsAtMs: number | undefined;

  function answer(): ScriptedReply {
    const given = (greeted && !unheard) || (heard !== undefined && isCommand(heard)) ? heard : REPEAT;
    greeted = true;
    keyed = undefined;
    return given === undefined ? { parts: script.again() } : script.onHeard(given);
  }

  function answerToKeys(): ScriptedReply {
    const reply = keyed ?? script.onKeysPaused() ?? { parts: script.again() };
    keyed = undefined;
    return reply;
  }

  /** What is left of the call, if it is to be told. */
  function notice(): readonly string[] {
    if (endsAtMs === undefined) return [];
    const secondsLeft = (endsAtMs - now()) / 1_000;
    endsAtMs = undefined;
    return [secondsLeft >= ABOUT_TWENTY_SECONDS ? TWENTY_SECONDS_LEFT : FEW_SECONDS_LEFT];
  }

  /** Whoever makes a sound before the first line on a new stream does so to a question that was lost, or half of one. */
  function bridges(task: ReplyTask): boolean {
    if (task === 'resume') return true;
    return bridgeIsDue && (task === 'go_on' || (task === 'answer' && !wantsSomethingElse(heard)));
  }

  function plainReply(task: ReplyTask): ScriptedReply {
    isBridging = bridges(task);
    // Whoever is answered otherwise goes on with the talk.
    bridgeIsDue &&= isBridging;
    if (isBridging) {
      greeted ||= task !== 'resume';
      return { parts: script.bridge() };
    }
    if (task === 'answer') return answer();
    if (task === 'digits') return answerToKeys();
    return { parts: task === 'wrap_up' ? [] : script.again() };
  }

  return {
    /** What is understood now; undefined: no words. Before the greeting was heard, no answer can be one. */
    grammar(): Grammar | undefined {
      const asked = script.grammar();
      return asked === undefined || greeted ? asked : BEFORE_GREETING;
    },
    /** Whether digits are asked for, which are said in groups. */
    asksForDigits: () => script.grammar()?.kind === 'digits',
    /** Told of a turn of the caller before the reply to it is asked for. */
    hears(turn: Heard): void {
      heard = turn;
    },
    /** The last words before the far end hung up still count. */
    hearsLast(turn: Heard): void {
      if (turn.outcome === 'understood' && greeted && !unheard) script.onHeard(turn);
    },
    /**
     * Keys count at once, whatever was heard until then.
     * @returns whether they are a whole answer
     */
    key(key: string): boolean {
      keyed = script.onKey(key);
      greeted = true;
      unheard = false;
      return keyed !== undefined;
    },
    endingSoon(secondsLeft: number): void {
      endsAtMs = now() + secondsLeft * 1_000;
    },
    reply(task: ReplyTask): ScriptedReply {
      if (task === 'introduce') {
        heard = undefined;
        return { parts: [...introduction, ...notice(), ...script.opening()] };
      }
      const reply = plainReply(task);
      heard = undefined;
      return reply.over === undefined ? { parts: [...notice(), ...reply.parts] } : reply;
    },
    lineOver({ task, playedMs, complete }: LineOver): void {
      if (isBridging && (complete || playedMs >= SESSION_POLICY.introduction.heardAfterMs)) bridgeIsDue = false;
      if (task === 'introduce' || task === 'resume') {
        greeted ||= complete || playedMs >= SESSION_POLICY.introduction.heardAfterMs;
      } else if (task === 'answer' || task === 'digits') unheard = !complete && playedMs < QUESTION_HEARD_MS;
    },
    again: () => script.again(),
    values: () => script.values(),
    upcoming: () => script.upcoming(),
  };
}

/** A goodbye, or a call for a person; "hello?" and "pardon?" ask for the question again. */
function wantsSomethingElse(heard: Heard | undefined): boolean {
  if (heard?.outcome !== 'understood' || heard.meaning.kind !== 'command') return false;
  return heard.meaning.command !== 'repeat' && heard.meaning.command !== 'hello';
}

function isCommand(heard: Heard): boolean {
  return heard.outcome === 'understood' && heard.meaning.kind === 'command';
}
