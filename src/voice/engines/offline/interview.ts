import type { ParameterValues } from '../port.js';
import { createAnswering } from './answering.js';
import { ALL_ANSWERED, CANNOT_LISTEN, LINE_BROKE, NOT_UNDERSTOOD, YES_OR_NO_BY_KEY } from './lines.js';
import { yesNoOfKey } from './questions.js';
import type { Question } from './questions.js';
import { asking, type Script, type ScriptedReply } from './script.js';

const NOTHING_LEFT: ScriptedReply = { parts: [ALL_ANSWERED], over: 'agent' };

/**
 * Asks one question after the other. Spoken digits are read back before they count, DTMF digits count at once, and a
 * question whose answers were not understood three times stays null. Values are never guessed.
 * @param known values from before a resume, null for questions left open; these are not asked again
 */
export function createInterview(questions: readonly Question[], known: ParameterValues = {}): Script {
  const answering = createAnswering(questions, known);
  /** DTMF digits entered so far. */
  let keys = '';

  const current = () => answering.open()[0];

  /** Asks the current question, or says goodbye if none is left. */
  function ask(...before: readonly string[]): ScriptedReply {
    const question = current();
    if (question === undefined) return { ...NOTHING_LEFT, parts: [...before, ...NOTHING_LEFT.parts] };
    return asking(answering.wordsOf(question), ...before);
  }

  function endOfKeys(question: Question): ScriptedReply {
    const entered = keys;
    keys = '';
    return answering.takeKeys(question, entered);
  }

  return {
    grammar: answering.grammar,
    opening: () => ask(),
    bridge: () => ask(LINE_BROKE),
    again() {
      const question = current();
      return question === undefined ? [] : answering.wordsOf(question);
    },

    onHeard(heard) {
      const question = current();
      keys = '';
      if (question === undefined) return NOTHING_LEFT;
      if (heard.outcome === 'understood') return answering.take(question, heard.meaning);
      const isConfirming = answering.isConfirming();
      if (heard.outcome !== 'not understood') {
        return answering.retry(question, CANNOT_LISTEN, [isConfirming ? YES_OR_NO_BY_KEY : question.keyHint]);
      }
      return answering.retry(question, NOT_UNDERSTOOD, [isConfirming ? YES_OR_NO_BY_KEY : question.hint]);
    },

    onKey(key) {
      const question = current();
      if (question === undefined) return NOTHING_LEFT;
      // A pound key alone follows an answer already taken, with its first digit or after a pause: repeat the question.
      if (key === '*' || (key === '#' && keys === '')) {
        keys = '';
        return asking(answering.wordsOf(question));
      }
      if (answering.isConfirming()) return answering.confirm(question, yesNoOfKey(key));
      if (question.kind === 'digits' && key !== '#') {
        keys += key;
        return undefined;
      }
      if (question.kind !== 'digits') keys = key;
      return endOfKeys(question);
    },

    onKeysPaused() {
      const question = current();
      return question === undefined || keys === '' ? undefined : endOfKeys(question);
    },

    values: answering.values,
    upcoming() {
      const [first, next] = answering.open();
      return [...(next?.ask ?? [ALL_ANSWERED]), first?.hint ?? ALL_ANSWERED];
    },
  };
}
