import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { paragraphsOf } from '../prose/documents.js';
import { proseLines } from '../prose/lint.js';
import { hashPassagesOf } from '../prose/hash-comments.js';
import { passagesOf } from '../prose/passages.js';
import { judge, parseOutstanding, summaryOf } from '../prose/ratchet.js';
import { sample } from '../prose/sample.js';
import { ROOT } from '../structure/sources.js';

const found = (text: string, path = 'src/a.ts') =>
  passagesOf(path, text).map(({ kind, lines }) => [
    kind,
    lines[0]?.line,
    lines
      .map((line) => line.text)
      .join(' ')
      .trim(),
  ]);

describe('the prose of a source file', () => {
  it('is its comments; adjacent line comments count as one', () => {
    const text = `// First half\n// of a sentence.\nconst a = 1; // Beside the code.\nconst b = 'this is // no comment';\n/* A block. */\n`;
    expect(found(text)).toEqual([
      ['comment', 1, 'First half of a sentence.'],
      ['comment', 3, 'Beside the code.'],
      ['text', 4, 'this is // no comment'],
      ['comment', 5, 'A block.'],
    ]);
  });

  it('excludes directives for tools', () => {
    const text = `// oxlint-disable-next-line no-console\n/**\n * Places a call.\n * @param to the callee’s number\n * @throws Error when it is not one\n */\nexport function place(to: string) { return to; }\n`;
    expect(found(text)).toEqual([
      ['comment', 2, 'Places a call. @param to the callee’s number @throws Error when it is not one'],
    ]);
  });

  it('includes every string that reads like a sentence, by its purpose', () => {
    const text = [
      `throw new ServiceError('NOT_FOUND', \`No call \${id} exists.\`);`,
      `logger.warn({ callId }, 'status callback rejected');`,
      `program.command('calls').description('list recent calls');`,
      `const route = { path: '/calls/{call_id}', summary: 'List calls', label: 'Create agent' };`,
      `send('Your invitation ' + 'has expired.');`,
    ].join('\n');
    expect(found(text)).toEqual([
      ['error', 1, 'No call {id} exists.'],
      ['log', 2, 'status callback rejected'],
      ['help', 3, 'list recent calls'],
      ['help', 4, 'List calls'],
      ['label', 4, 'Create agent'],
      ['text', 5, 'Your invitation has expired.'],
    ]);
  });

  it('includes the text of JSX and of visible attributes', () => {
    const text = `export const a = <p class="two words" title="Delete the key">Are you sure?{/* A note. */}</p>;\n`;
    expect(found(text, 'src/portal/app/a.tsx')).toEqual([
      ['comment', 1, 'A note.'],
      ['label', 1, 'Delete the key'],
      ['label', 1, 'Are you sure?'],
    ]);
  });

  it('is limited to comments and test names in tests', () => {
    const text = `// Why it is so.\nit('bills the call', () => { expect(call).toBe('some test data'); });\nit.each(['not a name'])('answers %s calls', run);\n`;
    expect(found(text, 'test/unit/a.test.ts')).toEqual([
      ['comment', 1, 'Why it is so.'],
      ['test', 2, 'bills the call'],
      ['test', 3, 'answers %s calls'],
    ]);
  });

  it('is linted with placeholders for code and with the line numbers of the source', () => {
    const text = `const a = 1;\n/**\n * Reads \`mouth\` from https://example.com/ear once\n * {name} is set.\n * @param name of the call\n */\n`;
    expect(proseLines('src/a.ts', text).slice(1, 5)).toEqual([
      { line: 3, text: 'Reads X from X once' },
      { line: 4, text: 'X is set.' },
      { line: 5, text: '' },
      { line: 5, text: 'of the call' },
    ]);
  });
});

describe('the prose of a file with # comments', () => {
  it('is its comments; adjacent lines count as one', () => {
    const script = '#!/bin/sh\n# Builds it.\n# Slowly.\nmake  # not found\n\n# Ends.\n';
    expect(hashPassagesOf('.ci/run', script).map(({ lines }) => lines)).toEqual([
      [
        { line: 2, text: 'Builds it.' },
        { line: 3, text: 'Slowly.' },
      ],
      [{ line: 6, text: 'Ends.' }],
    ]);
  });

  it('includes the texts of an issue form', () => {
    const form =
      'name: Bug report\nbody:\n  - type: input\n    attributes:\n      label: Which version?\n      render: text\n';
    expect(hashPassagesOf('.github/bug.yml', form).flatMap(({ lines }) => lines.map(({ text }) => text))).toEqual([
      'Bug report',
      'Which version?',
    ]);
  });
});

describe('the paragraphs of a document', () => {
  it('are its text and list items without headings, tables and code', () => {
    const text =
      '# Title\n\nOne sentence\nover two lines.\n\n| a | b |\n|---|---|\n\n```sh\nrun it\n```\n- first\n- second\n';
    const paragraphs = paragraphsOf({ path: 'docs/a.md', text }).map(({ lines }) => lines);
    expect(paragraphs).toEqual([
      [
        { line: 3, text: 'One sentence' },
        { line: 4, text: 'over two lines.' },
      ],
      [{ line: 12, text: '- first' }],
      [{ line: 13, text: '- second' }],
    ]);
  });
});

describe('the list of files with outstanding problems', () => {
  const problem = (path: string, rule = 'Terms') => ({ path, line: 1, rule, message: 'Use it.' });

  it('allows problems in listed files only', () => {
    const { fresh, finished } = judge([problem('src/a.ts'), problem('src/b.ts')], ['src/a.ts']);
    expect(fresh).toEqual([problem('src/b.ts')]);
    expect(finished).toEqual([]);
  });

  it('must not contain a clean or deleted file', () => {
    expect(judge([], ['src/clean.ts']).finished).toEqual(['src/clean.ts']);
  });

  it('contains existing files, sorted and without duplicates', () => {
    const listed = parseOutstanding(readFileSync(join(ROOT, 'test/prose/outstanding.txt'), 'utf8'));
    expect(listed).toEqual([...new Set(listed)].toSorted());
    expect(listed.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('is counted by rule', () => {
    const problems = [problem('src/a.ts'), problem('src/a.ts'), problem('src/b.ts', 'Weasel')];
    expect(summaryOf(problems)).toBe(
      'Terms: 2 problems in 1 files\nWeasel: 1 problems in 1 files\nall rules: 3 problems in 2 files\n',
    );
  });
});

describe('a sample of passages', () => {
  const lines = (words: string) => [{ line: 3, text: words }];
  const texts = (path: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({ path, lines: lines(`${n} ${'word '.repeat(12)}`) }));
  const passages = [
    ...texts('src/a.ts', 80).map((text) => ({ ...text, kind: 'comment' as const })),
    ...texts('src/b.ts', 40).map((text) => ({ ...text, kind: 'error' as const })),
  ];
  const draw = (seed: number, hidden: boolean) =>
    sample({ passages, paragraphs: texts('docs/a.md', 30), seed, hidden });

  it('is the same for the same seed', () => {
    expect(draw(7, false)).toBe(draw(7, false));
    expect(draw(8, false)).not.toBe(draw(7, false));
  });

  it('has 50 comments, 30 error messages and 20 paragraphs, with their locations unless these are hidden', () => {
    expect(draw(7, false).match(/^\d+\. src\/a\.ts:3$/gm)).toHaveLength(50);
    expect(draw(7, false).match(/^\d+\. src\/b\.ts:3$/gm)).toHaveLength(30);
    expect(draw(7, false).match(/^\d+\. docs\/a\.md:3$/gm)).toHaveLength(20);
    expect(draw(7, true).match(/^\d+\.$/gm)).toHaveLength(100);
  });
});
