/** What the offline engine can say beside its instruction. */
export const INTRODUCTION = 'Hello. This is an automated assistant.';
export const BRIDGE = 'Sorry, we were cut off for a moment. Please go on.';
export const REPLIES: readonly string[] = [
  'Thank you, I have noted that.',
  'I see. Please go on.',
  'Understood. Is there anything else?',
  'Thank you. I have noted that too.',
];
export const GOODBYE = 'Thank you for your time. Goodbye.';
export const ARE_YOU_THERE = 'Are you still there?';
export const TWENTY_SECONDS_LEFT = 'We have about twenty seconds left.';
export const FEW_SECONDS_LEFT = 'We have only a few seconds left.';
export const SILENT_GOODBYE = 'I cannot hear you, so I will hang up now. Goodbye.';

/** All of them: their audio is worth keeping. */
export const FIXED_LINES: ReadonlySet<string> = new Set([
  INTRODUCTION,
  BRIDGE,
  ...REPLIES,
  GOODBYE,
  ARE_YOU_THERE,
  TWENTY_SECONDS_LEFT,
  FEW_SECONDS_LEFT,
  SILENT_GOODBYE,
]);

const MAX_OPENING_CHARACTERS = 300;

/** The first sentence of an instruction, fit to be spoken: no control characters, at most 300 characters. */
export function openingOf(instruction: string): string {
  const plain = instruction
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const sentence = /^.*?[.!?](?=\s|$)/.exec(plain)?.[0] ?? plain;
  return sentence.slice(0, MAX_OPENING_CHARACTERS).trim();
}
