import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PARTS } from './rules.js';
import { ROOT } from './sources.js';

const WORKFLOW_LIBRARIES = '@temporalio/(client|worker|activity|testing|proto)';

/** The lint rules that apply to every file. */
const RULES = {
  'typescript/no-floating-promises': 'error',
  'typescript/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
  'typescript/await-thenable': 'error',
  'typescript/no-explicit-any': 'error',
  'typescript/consistent-type-imports': 'error',
  'import/no-cycle': ['error', { ignoreTypes: false }],
  'no-console': 'error',
  eqeqeq: 'error',
  'max-lines': ['error', { max: 400 }],
  'jest/expect-expect': ['error', { assertFunctionNames: ['expect', 'expect*', 'fc.assert'] }],
  'jest/no-conditional-expect': 'off',
  'jest/no-standalone-expect': 'off',
};

/**
 * Returns the names by which other files import a part. If a part contains other parts, returns the names of its
 * remaining files and folders.
 */
function importNames(at: string): string[] {
  const name = at.replace(/^src\//, '');
  const contained = PARTS.filter((other) => other.at.startsWith(`${at}/`)).map((other) => other.at);
  if (contained.length === 0) return [name];
  const entries = readdirSync(join(ROOT, at)).filter((entry) => !contained.includes(`${at}/${entry}`));
  return entries.map((entry) => `${name}/${entry.replace(/\.ts$/, '\\.js')}`);
}

/** Forbids imports of later parts. The rule compares imports as they are written, so it finds only the usual forms. */
function orderOf({ at }: (typeof PARTS)[number], index: number) {
  // The rule names folders only, because a file with the same name can exist elsewhere.
  const later = PARTS.slice(index + 1).filter((other) => !other.at.endsWith('.ts') && !at.startsWith(`${other.at}/`));
  const names = [...later.flatMap((other) => importNames(other.at)), 'test'].join('|');
  const pattern = {
    regex: `^(\\.\\./)+(src/)?(${names})(/|$)`,
    message: `${at} imports only parts that stand before it in test/structure/rules.ts.`,
    // Workflows may import the types of their activities.
    ...(at === 'workflows' ? { allowTypeImports: true } : {}),
  };
  const libraries = {
    regex: `^(node:|[a-z]|@[a-su-z]|${WORKFLOW_LIBRARIES})`,
    message: 'Workflow code is deterministic: it imports workflow code, pure files and types.',
  };
  const patterns = at === 'workflows' ? [pattern, libraries] : [pattern];
  return {
    files: at.endsWith('.ts') ? [at] : [`${at}/**`],
    rules: { 'no-restricted-imports': ['error', { patterns }] },
  };
}

/** Returns the text of `.oxlintrc.json`, which is generated from the table of parts. */
export function lintConfig(): string {
  // If several overrides match a file, the last one applies. So nested folders come last.
  const parts = PARTS.map((part, index) => ({ part, index })).toSorted((a, b) => a.part.at.length - b.part.at.length);
  const config = {
    plugins: ['typescript', 'import', 'unicorn', 'jest'],
    categories: { correctness: 'error' },
    rules: RULES,
    // The linter reads types, and the SDKs there are installed only when their check runs.
    ignorePatterns: ['test/provider-types/**'],
    overrides: parts.map(({ part, index }) => orderOf(part, index)),
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
