import { valueIn } from '../../session/parameter-values.js';
import type { ParameterValues } from '../port.js';
import type { Question } from './questions.js';

/** Counts that the summary states: sentences spoken, caller turns heard, and the length of the call. */
export interface Counts {
  spoken: number;
  heard: number;
  seconds: number;
}

const LABEL = 'Automatic summary, not AI (offline demo engine):';

/** A summary of one or two sentences from a template; it states that no AI wrote it. */
export function summarizeCall(
  questions: readonly Question[],
  values: ParameterValues,
  { spoken, heard, seconds }: Counts,
  answeredBy: string | undefined,
): string {
  if (answeredBy === 'voicemail') return `${LABEL} an answering machine took the call after ${seconds} s.`;
  if (questions.length === 0) {
    const counts = `spoke ${times(spoken)} and heard the caller ${times(heard)} in ${seconds} s`;
    return `${LABEL} ${counts}; caller speech was not transcribed.`;
  }
  const answered = questions.flatMap((question) => {
    const value = valueIn(values, question.key);
    return value === undefined || value === null ? [] : [`${question.name}: ${question.inWords(value)}`];
  });
  const share = `${answered.length} of ${questions.length} ${questions.length === 1 ? 'question was' : 'questions were'}`;
  const details = answered.length === 0 ? '' : `: ${answered.join('; ')}`;
  return `${LABEL} ${share} answered in ${seconds} s${details}.`;
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
