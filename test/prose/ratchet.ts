import type { Problem } from './lint.js';

/** Returns the files listed in outstanding.txt. Lines that start with `#` are comments. */
export function parseOutstanding(text: string): string[] {
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

/**
 * Compares problems with the list of files that have not been cleaned yet.
 * @returns `fresh`: problems in files that are not listed; `finished`: listed files that have no problem, including
 *   files that were deleted
 */
export function judge(problems: readonly Problem[], listed: readonly string[]) {
  const allowed = new Set(listed);
  const withProblems = new Set(problems.map(({ path }) => path));
  return {
    fresh: problems.filter(({ path }) => !allowed.has(path)),
    finished: listed.filter((path) => !withProblems.has(path)),
  };
}

/** Counts problems and files for each rule. The rule with the most problems comes first. */
export function summaryOf(problems: readonly Problem[]): string {
  const names = [...new Set(problems.map(({ rule }) => rule))];
  const rows = names
    .map((name) => [name, problems.filter(({ rule }) => rule === name)] as const)
    .toSorted(([, a], [, b]) => b.length - a.length);
  const lines = [...rows, ['all rules', problems] as const].map(
    ([name, some]) => `${name}: ${some.length} problems in ${new Set(some.map(({ path }) => path)).size} files`,
  );
  return `${lines.join('\n')}\n`;
}
