import type { Grammar } from '../../audio/grammar.js';
import { SESSION_POLICY } from '../../session/reducer/policy.js';
import type { ReplyTask } from '../../session/reducer/kinds.js';
import { FEW_SECONDS_LEFT, TWENTY_SECONDS_LEFT } from './phrases.js';
import type { UtteranceOutcome } from './utterance-player.js';
import { askQuestion, type TurnRecognition, type Script, type ScriptedReply } from './script.js';

/** A question interrupted before this much of it has played counts as not heard. */
const QUESTION_HEARD_MS = 1_000;
/** With at least this many seconds left, the agent announces that about twenty seconds are left in the call. */
const ABOUT_TWENTY_SECONDS = 14;
const BEFORE_INTRODUCTION: Grammar = { kind: 'commands' };
/** Replaces an answer to a question that the caller has not heard, so that the question is repeated. */
const REPEAT: TurnRecognition = { outcome: 'understood', text: '', meaning: { kind: 'command', command: 'repeat' } };

export type ScriptedModel = ReturnType<typeof createScriptedModel>;

/** Takes the place of an LLM: keeps track of the caller's last input and asks the script for replies. */
export function createScriptedModel(p: {
  script: Script;
  /** The sentences of the greeting: who is speaking, and what the call is about. */
  introduction: readonly string[];
  /** Whether the session was resumed after the introduction. */
  resumed?: boolean;
  /** Time in ms since the start of the stream. */
  now: () => number;
}) {
  const { script, introduction, now } = p;
  let heard: TurnRecognition | undefined;
  /** The script's reply to the last DTMF digits. */
  let digitsReply: ScriptedReply | undefined;
  /** Whether the introduction was heard or is no longer needed. */
  let introduced = false;
  const owed = createOwedIntroduction(introduction, !(p.resumed ?? false));
  /** Whether the caller has heard the current question. Earlier speech is not an answer to it. */
  let questionHeard = false;
  /** Whether the agent must still say that the line broke. */
  let bridgeIsDue = p.resumed ?? false;
  let isBridging = false;
  const notice = createNotice(now);

  function answer(): ScriptedReply {
    const given = questionHeard || (heard !== undefined && isCommand(heard)) ? heard : REPEAT;
    introduced = true;
    digitsReply = undefined;
    return given === undefined ? askQuestion(script.again()) : script.onTurn(given);
  }

  function answerDigits(): ScriptedReply {
    const reply = digitsReply ?? script.onDigitsPaused() ?? askQuestion(script.again());
    digitsReply = undefined;
    return reply;
  }

  /**
   * Whether to say first that the line broke, instead of replying. An answer that the caller gave before hearing this
   * does not count, because its question was lost or only half heard.
   */
  function needsBridge(task: ReplyTask): boolean {
    if (task === 'resume') return true;
    return bridgeIsDue && (task === 'continue' || (task === 'answer' && !isOtherRequest(heard)));
  }

  function plainReply(task: ReplyTask): ScriptedReply {
    isBridging = needsBridge(task);
    // After any other reply, the agent need not say any more that the line broke.
    bridgeIsDue &&= isBridging;
    if (isBridging) {
      introduced ||= task !== 'resume';
      return script.bridge();
    }
    if (task === 'answer') return owed.before(answer());
    if (task === 'digits') return answerDigits();
    return task === 'wrap_up' ? { parts: [] } : owed.before(askQuestion(script.again()));
  }

  function introduce(): ScriptedReply {
    owed.begin();
    const opening = script.opening();
    const before = opening.over === undefined ? [...introduction, ...notice.take()] : introduction;
    return prefixReply(before, opening);
  }

  return {
    /** The current grammar; undefined if no words are recognized. Until the introduction was heard, only commands. */
    grammar(): Grammar | undefined {
      const asked = script.grammar();
      return asked === undefined || introduced ? asked : BEFORE_INTRODUCTION;
    },
    /** Whether the current question asks for digits, which people say in groups. */
    asksForDigits: () => script.grammar()?.kind === 'digits',
    /** Stores a turn of the caller, before the reply to it is requested. */
    setTurn(turn: TurnRecognition): void {
      heard = turn;
    },
    /** Processes the caller's final turn before the hang-up, which still counts as an answer. */
    takeFinalTurn(turn: TurnRecognition): void {
      if (turn.outcome === 'understood' && questionHeard) script.onTurn(turn);
    },
    /**
     * Processes a DTMF digit, which counts at once, even before the question was heard.
     * @returns whether the digits form a complete answer
     */
    onDigit(digit: string): boolean {
      digitsReply = script.onDigit(digit);
      introduced = true;
      owed.waive();
      // A complete answer leads to the next question, which the caller has not heard yet.
      questionHeard = digitsReply === undefined;
      return digitsReply !== undefined;
    },
    endingSoon: (secondsLeft: number) => notice.endingSoon(secondsLeft),
    reply(task: ReplyTask): ScriptedReply {
      if (task === 'introduce') {
        heard = undefined;
        return introduce();
      }
      const reply = plainReply(task);
      heard = undefined;
      return reply.over === undefined ? prefixReply(notice.take(), reply) : reply;
    },
    onUtteranceEnd({ task, playedMs, questionMs, complete }: UtteranceOutcome): void {
      const isHeard = complete || playedMs >= SESSION_POLICY.introduction.heardAfterMs;
      if (isBridging && isHeard) bridgeIsDue = false;
      owed.onUtteranceEnd(isHeard);
      if (task === 'introduce' || task === 'resume') introduced ||= isHeard;
      if (questionMs === undefined) return;
      // A question repeated after a silence may have been heard before.
      const isNew = task === 'answer' || task === 'digits';
      questionHeard = (!isNew && questionHeard) || complete || questionMs >= QUESTION_HEARD_MS;
    },
    again: () => script.again(),
    values: () => script.values(),
    upcoming: () => script.upcoming(),
  };
}

/**
 * Whether the agent must still say who it is. The session repeats an interrupted introduction only once, and a caller who
 * interrupts that one, too, must still learn that a machine is speaking.
 */
function createOwedIntroduction(introduction: readonly string[], isOwed: boolean) {
  let isDue = isOwed;
  let isBegun = false;
  return {
    begin: () => void (isBegun = true),
    waive: () => void (isDue = false),
    /** Begins a reply with the introduction if it is due, unless the reply ends the call. */
    before(reply: ScriptedReply): ScriptedReply {
      isBegun = isDue && reply.over === undefined;
      return isBegun ? prefixReply(introduction, reply) : reply;
    },
    onUtteranceEnd(isHeard: boolean): void {
      if (isBegun && isHeard) isDue = false;
      isBegun = false;
    },
  };
}

/** Announces once how much time is left in the call. */
function createNotice(now: () => number) {
  let endsAtMs: number | undefined;
  return {
    endingSoon(secondsLeft: number): void {
      endsAtMs = now() + secondsLeft * 1_000;
    },
    /** @returns the announcement if it is due, and only once */
    take(): readonly string[] {
      if (endsAtMs === undefined) return [];
      const secondsLeft = (endsAtMs - now()) / 1_000;
      endsAtMs = undefined;
      return [secondsLeft >= ABOUT_TWENTY_SECONDS ? TWENTY_SECONDS_LEFT : FEW_SECONDS_LEFT];
    },
  };
}

function prefixReply(before: readonly string[], { questionAt, ...reply }: ScriptedReply): ScriptedReply {
  return {
    ...reply,
    parts: [...before, ...reply.parts],
    ...(questionAt === undefined ? {} : { questionAt: before.length + questionAt }),
  };
}

/** Whether the caller said goodbye or asked for a person. "Hello?" and "pardon?" only ask to repeat the question. */
function isOtherRequest(heard: TurnRecognition | undefined): boolean {
  if (heard?.outcome !== 'understood' || heard.meaning.kind !== 'command') return false;
  return heard.meaning.command !== 'repeat' && heard.meaning.command !== 'hello';
}

function isCommand(heard: TurnRecognition): boolean {
  return heard.outcome === 'understood' && heard.meaning.kind === 'command';
}
