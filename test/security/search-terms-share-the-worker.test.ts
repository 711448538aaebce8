import { stepsToTerms } from '../../src/calls/search/search-terms.js';

const LENGTH = 250_000;
/** Marks in an order that a normalization has to sort. */
const MARKS = ['\u0301', '\u0327', '\u0316', '\u035C', '\u0345'].join('');
/** A single character that stands for a phrase of 18 characters. */
const PHRASE = '\uFDFA';

const texts: [string, string][] = [
  ['accents without letters', MARKS.repeat(LENGTH / MARKS.length)],
  ['characters that stand for phrases', PHRASE.repeat(LENGTH)],
  ['typed turns with such characters', `caller: ${PHRASE.repeat(1_000)}\n`.repeat(LENGTH / 1_000)],
  ['one word without an end', 'a1'.repeat(LENGTH / 2)],
];

/** CPU time of this process so far, in ms. It does not pass while other processes have the CPU. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * Callers decide what a transcript contains, above all if they type. A worker makes the search terms of each call when it
 * ends, beside the calls of all other accounts.
 */
describe('the search terms of a hostile transcript', () => {
  it.each(texts)('take the worker a short time, in short steps: %s', (_what, text) => {
    const began = cpuMs();
    const steps = stepsToTerms(text);
    let longestMs = 0;
    let count = 0;
    for (let isDone = false; !isDone; count++) {
      const stepBegan = cpuMs();
      isDone = steps.next().done === true;
      longestMs = Math.max(longestMs, cpuMs() - stepBegan);
    }
    expect(count).toBeGreaterThan(25);
    expect(longestMs).toBeLessThan(150);
    expect(cpuMs() - began).toBeLessThan(2_000);
  });
});
