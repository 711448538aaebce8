import type { NumberPattern } from './number-pattern.js';

/** The beginning of a turn in the text of a transcript. */
const TURN = /(?:^|\n)(?:agent|caller): /g;

/** The words of a speaker. */
interface Turn {
  speaker: string;
  text: string;
}

/** Whether the text is a transcript with the number in what one of its speakers said, whatever the other one said in between. */
export function isInTranscript(text: string, pattern: NumberPattern): boolean {
  return isInTurns(turnsOf(text).turns, pattern);
}

/** Replaces the number in a transcript, each part of it if it is divided. A text that is no transcript stays as it is. */
export function replaceInTranscript(text: string, pattern: NumberPattern, replacement: string): string {
  const { before, turns } = turnsOf(text);
  const texts = replaceInTurns(turns, pattern, replacement);
  return before + turns.map(({ label }, index) => label + (texts[index] ?? '')).join('');
}

/** Whether the number is in what one of the speakers said, whatever the other one said in between. */
export function isInTurns(turns: readonly Turn[], pattern: NumberPattern): boolean {
  return bySpeaker(turns).some((own) => pattern.isIn(own.map(({ text }) => text).join('\n')));
}

/** @returns the texts of the turns, with the replacement of each part of the number */
export function replaceInTurns(turns: readonly Turn[], pattern: NumberPattern, replacement: string): string[] {
  const texts = turns.map(({ text }) => text);
  for (const own of bySpeaker(turns)) {
    const changed = pattern.replaceInParts(
      own.map(({ text }) => text),
      replacement,
    );
    for (const [at, { index }] of own.entries()) texts[index] = changed[at] ?? '';
  }
  return texts;
}

/** Whether a stored value is the turns of a conversation. */
export function areTurns(value: readonly unknown[]): value is Turn[] {
  return value.every((item) => {
    const { speaker, text } = (item ?? {}) as Partial<Record<keyof Turn, unknown>>;
    return typeof speaker === 'string' && typeof text === 'string';
  });
}

/** The turns of each speaker, with their positions. */
function bySpeaker(turns: readonly Turn[]): { text: string; index: number }[][] {
  const found = new Map<string, { text: string; index: number }[]>();
  for (const [index, { speaker, text }] of turns.entries()) {
    const own = found.get(speaker) ?? [];
    own.push({ text, index });
    found.set(speaker, own);
  }
  return [...found.values()];
}

/** Divides a transcript into its turns. The label of a turn is all that is between two texts. */
function turnsOf(text: string): { before: string; turns: (Turn & { label: string })[] } {
  const labels = Array.from(text.matchAll(TURN), ({ 0: label, index }) => ({ label, index }));
  return {
    before: text.slice(0, labels[0]?.index),
    turns: labels.map(({ label, index }, at) => ({
      label,
      speaker: label.trim(),
      text: text.slice(index + label.length, labels[at + 1]?.index),
    })),
  };
}
