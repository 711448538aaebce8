import type { ParameterValues } from '../port.js';
import { createAnswerCollector } from './answer-collector.js';
import { ALL_ANSWERED, CANNOT_LISTEN, LINE_BROKE, NOT_UNDERSTOOD, YES_OR_NO_BY_KEY } from './phrases.js';
import { yesNoOfDigit } from './questions.js';
import type { Question } from './questions.js';
import { askQuestion, type Script, type ScriptedReply } from './script.js';

const NOTHING_LEFT: ScriptedReply = { parts: [ALL_ANSWERED], over: 'agent' };

/**
 * Asks one question after the other. Spoken digits are read back before they count, DTMF digits count at once, and a
 * question whose answers were not understood three times gets the value null. Values are never guessed.
 * @param known values from before a resume; null for a question whose answers were not understood. Questions with a
 * value or null are not asked again.
 */
export function createInterview(questions: readonly Question[], known: ParameterValues = {}): Script {
  const answers = createAnswerCollector(questions, known);
  /** DTMF digits entered so far. */
  let digits = '';

  const current = () => answers.openQuestions()[0];

  /** Asks the current question, or says goodbye if none is left. */
  function ask(...before: readonly string[]): ScriptedReply {
    const question = current();
    if (question === undefined) return { ...NOTHING_LEFT, parts: [...before, ...NOTHING_LEFT.parts] };
    return askQuestion(answers.textOf(question), ...before);
  }

  function takeEnteredDigits(question: Question): ScriptedReply {
    const entered = digits;
    digits = '';
    return answers.takeDigits(question, entered);
  }

  return {
    grammar: answers.grammar,
    opening: () => ask(),
    bridge: () => ask(LINE_BROKE),
    again() {
      const question = current();
      return question === undefined ? [] : answers.textOf(question);
    },

    onTurn(heard) {
      const question = current();
      digits = '';
      if (question === undefined) return NOTHING_LEFT;
      if (heard.outcome === 'understood') return answers.takeWords(question, heard.meaning);
      const isConfirming = answers.isConfirming();
      if (heard.outcome !== 'not understood') {
        return answers.retry(question, CANNOT_LISTEN, [isConfirming ? YES_OR_NO_BY_KEY : question.dtmfHint]);
      }
      return answers.retry(question, NOT_UNDERSTOOD, [isConfirming ? YES_OR_NO_BY_KEY : question.hint]);
    },

    onDigit(digit) {
      const question = current();
      if (question === undefined) return NOTHING_LEFT;
      // A pound key without digits before it belongs to an answer that already counted, so repeat the current question.
      if (digit === '*' || (digit === '#' && digits === '')) {
        digits = '';
        return askQuestion(answers.textOf(question));
      }
      if (answers.isConfirming()) return answers.confirm(question, yesNoOfDigit(digit));
      if (question.kind === 'digits' && digit !== '#') {
        digits += digit;
        return undefined;
      }
      if (question.kind !== 'digits') digits = digit;
      return takeEnteredDigits(question);
    },

    onDigitsPaused() {
      const question = current();
      return question === undefined || digits === '' ? undefined : takeEnteredDigits(question);
    },

    values: answers.values,
    upcoming() {
      const [first, next] = answers.openQuestions();
      return [...(next?.ask ?? [ALL_ANSWERED]), first?.hint ?? ALL_ANSWERED];
    },
  };
}
