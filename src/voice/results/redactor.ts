import { redactTexts } from '../../kernel/redaction/redact.js';
import type { PhoneNumberCheck } from '../../platform/numbering/phone-number-check.js';
import type { StreamedCall } from '../call-reader.js';

export type Redactor = NonNullable<ReturnType<typeof createRedactor>>;

/**
 * Creates what redacts the words of a call before they are stored.
 * @returns undefined if the agent of the call wants no redaction
 */
export function createRedactor(
  { agent, fromPhoneNumber, toPhoneNumber }: Pick<StreamedCall, 'agent' | 'fromPhoneNumber' | 'toPhoneNumber'>,
  phoneNumbers: PhoneNumberCheck,
) {
  const { redact: kinds = [], language } = agent;
  if (kinds.length === 0) return undefined;
  const regions = phoneNumbers.regionsOf([fromPhoneNumber, toPhoneNumber], language);
  const redaction = { kinds, isPhoneNumber: (digits: string) => phoneNumbers.isPhoneNumber(digits, regions) };
  return {
    redact: (text: string): string => redactTexts([text], redaction).join(''),

    /** Redacts turns of one speaker. A number may begin in one and end in a later one. */
    redactTurns: (texts: readonly string[]): string[] => redactTexts(texts, redaction),
  };
}
