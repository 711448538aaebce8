import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { check as Check, Diagnostics } from 'recheck';
import { routes } from '../../src/api/routes.js';
import * as identifiers from '../../src/telephony/twilio/identifiers.js';
import { findPatterns, patternsWithin, sourceFiles, type FoundPattern } from '../support/regular-expressions.js';

const ROOT = join(__dirname, '../..');
const FOLDERS = ['src', 'workflows', 'activities', 'workers', 'deploy'];

/** The time limit for about 170 patterns. Each is checked in a separate process, on a machine that has other work. */
const TIMEOUT_MS = 120_000;

/**
 * Patterns that are allowed although the check cannot prove that they are safe. Each needs a reason that is true for
 * every input. "The input is short" is a reason only if the code enforces it.
 */
const EXCEPTIONS: readonly { file: string; pattern: string | null; reason: string }[] = [
  {
    file: 'src/api/unmatched.ts',
    pattern: null,
    reason: 'Made from the paths of the route table: fixed text and [^/]+ between slashes, which backtracks nowhere.',
  },
];

/**
 * The native checker is an optional package for a few platforms. The JavaScript version takes minutes, and it reports
 * wrong results for patterns that it gives up on. So other platforms skip the check, but CI must run it.
 */
function loadCheck(): typeof Check | undefined {
  const ofRecheck = createRequire(require.resolve('recheck'));
  const platform =
    process.platform === 'darwin' ? 'macos' : process.platform === 'win32' ? 'windows' : process.platform;
  try {
    ofRecheck.resolve(`recheck-${platform}-${process.arch}/package.json`);
  } catch {
    return undefined;
  }
  process.env['RECHECK_BACKEND'] = 'native';
  return (ofRecheck('./index.js') as { check: typeof Check }).check;
}

const check = loadCheck();
const isSkipped = check === undefined;
const itChecks = isSkipped ? it.skip : it;
if (isSkipped) {
  const why = `recheck has no native package for ${process.platform}-${process.arch}, or it is not installed`;
  process.stderr.write(`The check of regular expressions is skipped: ${why}. CI runs it.\n`);
}

const known = new Map<string, Promise<Diagnostics>>();

function diagnose(pattern: string, flags: string): Promise<Diagnostics> {
  const key = `${pattern}/${flags}`;
  if (check === undefined) throw new Error('A skipped test checks nothing.');
  const diagnosis = known.get(key) ?? check(pattern, flags, { timeout: 30_000, randomSeed: 1 });
  known.set(key, diagnosis);
  return diagnosis;
}

/**
 * Returns a sentence for each pattern that is not proven to take linear time. The sentence contains the input that
 * makes it slow.
 */
async function faultsOf(found: readonly FoundPattern[]): Promise<string[]> {
  const faults: string[] = [];
  for (const { at, pattern, flags } of found) {
    if (pattern === null) {
      faults.push(`${at}: this regular expression is not made of constants, so it cannot be checked`);
      continue;
    }
    const result = await diagnose(pattern, flags);
    if (result.status === 'safe') continue;
    const why =
      result.status === 'vulnerable'
        ? `takes ${result.complexity.summary} time for ${result.attack.pattern}`
        : `could not be checked: ${result.error.kind}`;
    faults.push(`${at}: /${pattern}/${flags} ${why}`);
  }
  return faults;
}

const isException = ({ at, pattern }: FoundPattern) =>
  EXCEPTIONS.some((exception) => at.startsWith(`${exception.file}:`) && exception.pattern === pattern);

it('regular expressions are checked in CI', () => {
  expect(isSkipped && process.env['CI'] !== undefined).toBe(false);
});

describe('regular expressions', () => {
  const sources = new Map(sourceFiles(ROOT, FOLDERS).map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));
  const found = findPatterns(sources);

  itChecks(
    'in the sources take linear time for every text',
    async () => {
      expect(found.length).toBeGreaterThan(150);
      expect(await faultsOf(found.filter((each) => !isException(each)))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  itChecks(
    'in the API schemas take linear time for every text',
    async () => {
      const patterns = patternsWithin(routes);
      expect(patterns.length).toBeGreaterThan(5);
      expect(
        await faultsOf(patterns.map(({ source, flags }) => ({ at: 'src/contract', pattern: source, flags }))),
      ).toEqual([]);
    },
    TIMEOUT_MS,
  );

  itChecks('for identifiers of carriers take linear time', async () => {
    const patterns = Object.values(identifiers).map(({ source }) => source);
    expect(await faultsOf(patterns.map((pattern) => ({ at: 'identifiers', pattern, flags: '' })))).toEqual([]);
  });

  it('that are listed as exceptions still exist', () => {
    const gone = EXCEPTIONS.filter(
      ({ file, pattern }) => !found.some((each) => each.at.startsWith(`${file}:`) && each.pattern === pattern),
    );
    expect(gone).toEqual([]);
  });
});

describe('the check of regular expressions', () => {
  const SLOW = '^(a+)+$';
  const places: [string, string][] = [
    ['a literal', `export const x = /${SLOW}/i;`],
    ['a literal behind a comment in JSX', `export const x = () => <p title="/*">{/${SLOW}/.test('a')}</p>;`],
    ['new RegExp of a string', `export const x = new RegExp('${SLOW}', 'u');`],
    ['RegExp of a template of constants', "const PART = '(a+)+';\nexport const x = RegExp(`^${PART}$`);"],
    ['a sum of constants', "const PART = '(a+)+';\nexport const x = new RegExp('^' + PART + '$');"],
    ['the source of another one', 'const PART = /(a+)+/;\nexport const x = new RegExp(`^${PART.source}$`);'],
    ['String.raw', `export const x = new RegExp(String.raw\`${SLOW}\`);`],
    ['a string that match takes', `export const x = 'a'.match('${SLOW}');`],
    ['the pattern of a schema', `export const x = { type: 'string', pattern: '${SLOW}' };`],
    ['a zod check', `export const x = z.string().regex(/${SLOW}/);`],
  ];

  itChecks.each(places)('finds a slow pattern in %s', async (_place, text) => {
    const faults = await faultsOf(findPatterns(new Map([['src/x.tsx', `// ä comment\n${text}`]])));
    expect(faults.join()).toMatch(/^src\/x\.tsx:[23]: .* takes .* time for /);
  });

  itChecks('reports a pattern with a dynamic part, and resolves constants of other files', async () => {
    const dynamic = new Map([['src/x.ts', 'export const x = (part: string) => new RegExp(`^${part}$`);']]);
    expect(await faultsOf(findPatterns(dynamic))).toEqual([
      expect.stringMatching(/^src\/x\.ts:1: .*not made of constants/),
    ]);
    const two = new Map([
      ['src/part.ts', "export const PART = '(a+)+';"],
      ['src/x.ts', "import { PART } from './part.js';\nexport const x = new RegExp(`^${PART}$`);"],
    ]);
    expect(await faultsOf(findPatterns(two))).toEqual([expect.stringMatching(/^src\/x\.ts:2: .*exponential/)]);
  });

  it('unescapes the characters of a string pattern', () => {
    const [found] = findPatterns(new Map([['src/x.ts', "export const x = new RegExp('^[\\\\uFEFF\\\\s]\\\\/$');"]]));
    expect(found?.pattern).toBe('^[\\uFEFF\\s]\\/$');
  });
});
