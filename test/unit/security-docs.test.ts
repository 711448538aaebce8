import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from '@swc/core';

const ROOT = join(__dirname, '../..');
const text = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
const rows = [...text.matchAll(/^\| ([A-Z]\d+) \|(.*)$/gm)].map(([, id = '', rest = '']) => ({ id, rest }));

/** Returns the tests that a table row names. */
function proofsOf(rest: string): { file: string; name: string }[] {
  return [...rest.matchAll(/`([^`]+)` › `([^`]+)`/g)].map(([, file = '', name = '']) => ({ file, name }));
}

interface Node {
  type: string;
  [field: string]: unknown;
}

const namesByFile = new Map<string, ReadonlySet<string>>();

/** Returns the names of a file's tests and test groups. Template strings are returned without their inserted values. */
function testNamesOf(file: string): ReadonlySet<string> {
  const known = namesByFile.get(file);
  if (known !== undefined) return known;
  const path = join(ROOT, file);
  const names = new Set<string>();
  if (existsSync(path)) {
    const options = { syntax: 'typescript', target: 'es2022' } as const;
    visit(parseSync(readFileSync(path, 'utf8'), options), (node) => {
      if (node.type !== 'CallExpression' || !isTestCall(node['callee'] as Node)) return;
      const [name] = (node['arguments'] as { expression: Node }[]).map(({ expression }) => expression);
      if (name?.type === 'StringLiteral') names.add(String(name['value']));
      if (name?.type === 'TemplateLiteral') {
        names.add((name['quasis'] as { cooked: string }[]).map(({ cooked }) => cooked).join('${…}'));
      }
    });
  }
  namesByFile.set(file, names);
  return names;
}

function visit(value: unknown, look: (node: Node) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value) look(value as Node);
  for (const child of Object.values(value)) visit(child, look);
}

/** Returns true for `it`, `it.each(table)` and similar calls, but not for skipped tests, because they prove nothing. */
function isTestCall(callee: Node): boolean {
  if (callee.type === 'Identifier') return ['it', 'itChecks', 'test', 'describe'].includes(String(callee['value']));
  if (callee.type === 'CallExpression') return isTestCall(callee['callee'] as Node);
  if (callee.type !== 'MemberExpression' || (callee['property'] as Node)['value'] === 'skip') return false;
  return isTestCall(callee['object'] as Node);
}

describe('docs/security.md', () => {
  it('names each threat once', () => {
    const ids = rows.map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(40);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  });

  it.each(rows)('proves $id with tests that exist', ({ rest }) => {
    const proofs = proofsOf(rest);
    expect(proofs.length).toBeGreaterThan(0);
    expect(proofs.filter(({ file, name }) => !testNamesOf(file).has(name))).toEqual([]);
  });

  it('keeps the original threats', () => {
    const upTo = (letter: string, count: number) => Array.from({ length: count }, (_, n) => `${letter}${n + 1}`);
    const first = { A: 12, N: 4, P: 4, M: 6, W: 8, C: 5, D: 3, S: 2 };
    const known = new Set(rows.map(({ id }) => id));
    expect(
      Object.entries(first)
        .flatMap(([letter, count]) => upTo(letter, count))
        .filter((id) => !known.has(id)),
    ).toEqual([]);
  });

  it('names every file of test/security', () => {
    const files = readdirSync(join(ROOT, 'test/security')).filter((name) => name.endsWith('.test.ts'));
    expect(files.length).toBeGreaterThan(40);
    expect(files.filter((name) => !text.includes(`\`test/security/${name}\``))).toEqual([]);
  });

  it('names only settings that exist', () => {
    const known = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8');
    const checklist = readFileSync(join(ROOT, 'docs/going-live.md'), 'utf8');
    const named = [...checklist.matchAll(/`([A-Z][A-Z_]{3,})(?:=[^`]*)?`/g)].map(([, name = '']) => name);
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((name) => !known.includes(`\`${name}\``))).toEqual([]);
  });

  it('is linked from SECURITY.md', () => {
    expect(readFileSync(join(ROOT, 'SECURITY.md'), 'utf8')).toContain('(docs/security.md)');
  });
});
