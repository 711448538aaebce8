import type { Grammar } from '../../audio/grammar.js';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import type { ReplyTask } from '../../session/reducer/kinds.js';
import { FEW_SECONDS_LEFT, TWENTY_SECONDS_LEFT } from './lines.js';
import type { LineOver } from './mouth.js';
import { asking, type Heard, type Script, type ScriptedReply } from './script.js';

/** Nobody knows what a question asks that is cut off before this. */
const QUESTION_HEARD_MS = 1_000;
/** With less than this left, nobody says twenty. */
const ABOUT_TWENTY_SECONDS = 14;
const BEFORE_INTRODUCTION: Grammar = { kind: 'commands' };
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
  /** The introduction was heard, or is not said any more. */
  let introduced = false;
  /** The caller knows what is asked now; nothing said before is an answer. */
  let questionHeard = false;
  /** The caller was not told yet that the line broke. */
  let bridgeIsDue = p.resumed ?? false;
  let isBridging = false;
  const notice = createNotice(now);

  function answer(): ScriptedReply {
    const given = questionHeard || (heard !== undefined && isCommand(heard)) ? heard : REPEAT;
    introduced = true;
    keyed = undefined;
    return given === undefined ? asking(script.again()) : script.onHeard(given);
  }

  function answerToKeys(): ScriptedReply {
    const reply = keyed ?? script.onKeysPaused() ?? asking(script.again());
    keyed = undefined;
    return reply;
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
      introduced ||= task !== 'resume';
      return script.bridge();
    }
    if (task === 'answer') return answer();
    if (task === 'digits') return answerToKeys();
    return task === 'wrap_up' ? { parts: [] } : asking(script.again());
  }

  function introduce(): ScriptedReply {
    const opening = script.opening();
    const before = opening.over === undefined ? [...introduction, ...notice.take()] : introduction;
    return after(before, opening);
  }

  return {
    /** What is understood now; undefined: no words. Before the introduction was heard, no answer can be one. */
    grammar(): Grammar | undefined {
      const asked = script.grammar();
      return asked === undefined || introduced ? asked : BEFORE_INTRODUCTION;
    },
    /** Whether digits are asked for, which are said in groups. */
    asksForDigits: () => script.grammar()?.kind === 'digits',
    /** Told of a turn of the caller before the reply to it is asked for. */
    hears(turn: Heard): void {
      heard = turn;
    },
    /** The last words before the far end hung up still count. */
    hearsLast(turn: Heard): void {
      if (turn.outcome === 'understood' && questionHeard) script.onHeard(turn);
    },
    /**
     * Keys count at once, whatever was heard until then.
     * @returns whether they are a whole answer
     */
    key(key: string): boolean {
      keyed = script.onKey(key);
      introduced = true;
      // A whole answer leads on to a question that was not heard yet.
      questionHeard = keyed === undefined;
      return keyed !== undefined;
    },
    endingSoon: (secondsLeft: number) => notice.endingSoon(secondsLeft),
    reply(task: ReplyTask): ScriptedReply {
      if (task === 'introduce') {
        heard = undefined;
        return introduce();
      }
      const reply = plainReply(task);
      heard = undefined;
      return reply.over === undefined ? after(notice.take(), reply) : reply;
    },
    lineOver({ task, playedMs, questionMs, complete }: LineOver): void {
      const isHeard = complete || playedMs >= SESSION_POLICY.introduction.heardAfterMs;
      if (isBridging && isHeard) bridgeIsDue = false;
      if (task === 'introduce' || task === 'resume') introduced ||= isHeard;
      if (questionMs === undefined) return;
      // What is only asked again, to someone who is silent, may have been heard before.
      const isNew = task === 'answer' || task === 'digits';
      questionHeard = (!isNew && questionHeard) || complete || questionMs >= QUESTION_HEARD_MS;
    },
    again: () => script.again(),
    values: () => script.values(),
    upcoming: () => script.upcoming(),
  };
}

/** Tells a caller once what is left of the call. */
function createNotice(now: () => number) {
  let endsAtMs: number | undefined;
  return {
    endingSoon(secondsLeft: number): void {
      endsAtMs = now() + secondsLeft * 1_000;
    },
    /** @returns what is to be said, unless that was done */
    take(): readonly string[] {
      if (endsAtMs === undefined) return [];
      const secondsLeft = (endsAtMs - now()) / 1_000;
      endsAtMs = undefined;
      return [secondsLeft >= ABOUT_TWENTY_SECONDS ? TWENTY_SECONDS_LEFT : FEW_SECONDS_LEFT];
    },
  };
}

function after(before: readonly string[], { questionAt, ...reply }: ScriptedReply): ScriptedReply {
  return {
    ...reply,
    parts: [...before, ...reply.parts],
    ...(questionAt === undefined ? {} : { questionAt: before.length + questionAt }),
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
