import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from '../structure/sources.js';
import { lintProse, type Problem } from './lint.js';
import { judge, parseOutstanding, summaryOf } from './ratchet.js';
import { findVale, installVale, VALE_VERSION } from './vale.js';

const OUTSTANDING = join(ROOT, 'test/prose/outstanding.txt');
const USAGE = `Usage: npm run prose -- [options] [file or folder ...]

Checks the language of documents, comments and messages. With files or folders, prints all problems in them, even
where the file is listed in test/prose/outstanding.txt.

  --install   build Vale ${VALE_VERSION} first if it is missing (needs Go 1.25 or later and a C compiler)
  --update    take files that are clean or gone off test/prose/outstanding.txt
  --summary   print the number of problems by rule
`;
const NOT_INSTALLED = `Vale ${VALE_VERSION} is not installed. Run \`npm run prose -- --install\`: it builds Vale with Go 1.25 or later and a C
compiler, once, into ~/.cache/callwright (or CALLWRIGHT_CACHE_DIR). A \`vale\` of this version on PATH works as well.
`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      install: { type: 'boolean', default: false },
      update: { type: 'boolean', default: false },
      summary: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return print(USAGE, 0);
  const report = (line: string) => void process.stderr.write(`${line}\n`);
  const vale = (await findVale(process.env)) ?? (values.install ? await installVale(process.env, report) : undefined);
  if (vale === undefined) return print(NOT_INSTALLED, 1);
  const problems = await lintProse(vale);
  if (values.summary) return print(summaryOf(problems), 0);
  if (positionals.length > 0) return printProblems(problems.filter(({ path }) => isWithin(path, positionals)));
  return check(problems, values.update);
}

function check(problems: readonly Problem[], update: boolean): number {
  const listed = parseOutstanding(readFileSync(OUTSTANDING, 'utf8'));
  const { fresh, finished } = judge(problems, listed);
  if (update && finished.length > 0) {
    const lines = readFileSync(OUTSTANDING, 'utf8').split('\n');
    writeFileSync(OUTSTANDING, lines.filter((line) => !finished.includes(line)).join('\n'));
    print(`${finished.length} files taken off test/prose/outstanding.txt.\n`, 0);
  } else if (finished.length > 0) {
    print(`${finished.map((path) => `${path} has no problems left`).join('\n')}\n`, 1);
    print('Run `npm run prose -- --update` to take these files off test/prose/outstanding.txt.\n', 1);
  }
  const failed = printProblems(fresh) !== 0 || (!update && finished.length > 0);
  return failed ? 1 : 0;
}

function printProblems(problems: readonly Problem[]): number {
  const lines = problems.map(({ path, line, rule, message }) => `${path}:${line}: ${message} (${rule})`);
  const end =
    problems.length === 0 ? 'No problems.' : `${problems.length} problems. CONTRIBUTING.md explains the rules.`;
  return print(`${[...lines, end].join('\n')}\n`, problems.length === 0 ? 0 : 1);
}

function isWithin(path: string, asked: readonly string[]): boolean {
  const names = asked.map((each) => each.replace(/^\.\//, '').replace(/\/$/, ''));
  return names.some((name) => path === name || path.startsWith(`${name}/`));
}

function print(text: string, code: number): number {
  process.stdout.write(text);
  return code;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`prose: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
