import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PARTS } from './rules.js';
import { ROOT } from './sources.js';

const WORKFLOW_LIBRARIES = '@temporalio/(client|worker|activity|testing|proto)';

/** Lint's rules for every file. */
const RULES = {
  'typescript/no-floating-promises': 'error',
  'typescript/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
  'typescript/await-thenable': 'error',
  'typescript/no-explicit-any': 'error',
  'typescript/consistent-type-imports': 'error',
  'import/no-cycle': 'error',
  'no-console': 'error',
  eqeqeq: 'error',
  'max-lines': ['error', { max: 400 }],
  'jest/expect-expect': ['error', { assertFunctionNames: ['expect', 'expect*', 'fc.assert'] }],
  'jest/no-conditional-expect': 'off',
  'jest/no-standalone-expect': 'off',
};

/** A part as imports from elsewhere name it; of one that contains another part, the rest of its folders. */
function importNames(at: string): string[] {
  const name = at.replace(/^src\//, '');
  const contained = PARTS.filter((other) => other.at.startsWith(`${at}/`)).map((other) => other.at);
  if (contained.length === 0) return [name];
  const entries = readdirSync(join(ROOT, at)).filter((entry) => !contained.includes(`${at}/${entry}`));
  return entries.map((entry) => `${name}/${entry.replace(/\.ts$/, '\\.js')}`);
}

/** A part must not import those after it. Imports are matched as they are written, so this finds the usual ones only. */
function orderOf({ at }: (typeof PARTS)[number], index: number) {
  // Folders only: a file's name is that of files elsewhere, too.
  const later = PARTS.slice(index + 1).filter((other) => !other.at.endsWith('.ts') && !at.startsWith(`${other.at}/`));
  const names = [...later.flatMap((other) => importNames(other.at)), 'test'].join('|');
  const pattern = {
    regex: `^(\\.\\./)+(src/)?(${names})(/|$)`,
    message: `${at} imports only parts that stand before it in test/structure/rules.ts.`,
    // Workflows take the types of their activities.
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

/** The text of `.oxlintrc.json`, made from the table of parts. */
export function lintConfig(): string {
  // Of two overrides for a file the last one counts, so folders within folders come last.
  const parts = PARTS.map((part, index) => ({ part, index })).toSorted((a, b) => a.part.at.length - b.part.at.length);
  const config = {
    plugins: ['typescript', 'import', 'unicorn', 'jest'],
    categories: { correctness: 'error' },
    rules: RULES,
    overrides: parts.map(({ part, index }) => orderOf(part, index)),
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
