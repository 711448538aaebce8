import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VARIABLES } from '../structure/configuration.js';
import { GENERATED_FILES } from '../structure/generate.js';
import { cyclesOf, faultsOf, functionsOf } from '../structure/measure.js';
import { fileOf, readSources, ROOT, type SourceFile } from '../structure/sources.js';

const source = (path: string, text: string, ...targets: string[]): SourceFile => ({
  path,
  text,
  imports: targets.map((target) => ({ target, relative: /^(src|workflows)\//.test(target), typeOnly: false })),
});

describe('the structure of the code', () => {
  it('follows the rules', () => {
    expect(faultsOf(readSources())).toEqual([]);
  });

  it.each(Object.entries(GENERATED_FILES))('has an up-to-date %s (npm run structure writes it)', (path, textOf) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(textOf());
  });
});

describe('the configuration reference', () => {
  it('describes every variable', () => {
    expect(VARIABLES.length).toBeGreaterThan(60);
    expect(VARIABLES.filter(({ description }) => (description ?? '').length < 10)).toEqual([]);
  });
});

describe('the structure check', () => {
  it('reports an import of a later layer and an impure import in a pure file', () => {
    const upward = source('src/billing/leases.ts', '', 'src/calls/gateway.ts');
    expect(faultsOf([upward])).toEqual(['src/billing/leases.ts imports src/calls/gateway.ts, which comes after it']);
    const impure = source('src/kernel/ids.ts', '', 'mongoose');
    expect(faultsOf([impure])).toEqual(['src/kernel/ids.ts imports mongoose, which is not pure']);
  });

  it('reports a carrier’s field name outside the carrier’s folder', () => {
    const text = "const sid = form['CallSid'];\n";
    expect(faultsOf([source('src/telephony/twilio/a.ts', text)])).toEqual([]);
    expect(faultsOf([source('src/calls/a.ts', text)])).toEqual([
      'src/calls/a.ts says CallSid. Only src/telephony/<carrier>/ knows a carrier’s fields: say it in the words of the port.',
    ]);
    const asking = "const isReal = account.kind !== 'simulator';\n";
    expect(faultsOf([source('src/calls/a.ts', asking)])).toEqual([
      "src/calls/a.ts says kind !== 'simulator'. Ask for what a carrier can do or whether it is simulated, not for its name.",
    ]);
    for (const word of ['accountSid', 'streamSid']) {
      const own = `const { ${word} } = account;\n`;
      expect(faultsOf([source('src/telephony/simulator/a.ts', own)])).toEqual([]);
      expect(faultsOf([source('src/calls/a.ts', own)])).toEqual([expect.stringContaining(`says ${word}.`)]);
    }
  });

  it('reports an import cycle', () => {
    const a = source('src/billing/a.ts', '', 'src/billing/b.ts');
    const b = source('src/billing/b.ts', '', 'src/billing/a.ts');
    expect(cyclesOf([a, b]).map((cycle) => cycle.toSorted())).toEqual([['src/billing/a.ts', 'src/billing/b.ts']]);
  });

  it('finds the file of every import, with and without an ending, so that no cycle is overlooked', () => {
    const known = new Set(['src/portal/app/api.ts', 'src/portal/app/pages/a.tsx', 'src/kernel/ids.ts']);
    expect(fileOf('src/portal/app/pages/a.tsx', '../api', known)).toBe('src/portal/app/api.ts');
    expect(fileOf('src/portal/app/main.tsx', './pages/a', known)).toBe('src/portal/app/pages/a.tsx');
    expect(fileOf('src/portal/app/api.ts', '../../kernel/ids.js', known)).toBe('src/kernel/ids.ts');
    expect(fileOf('src/portal/app/api.ts', './nothing', known)).toBeUndefined();
    const lost = source('src/billing/a.ts', '');
    lost.imports.push({ target: 'src/billing/b', relative: true, typeOnly: false, isMissing: true });
    expect(faultsOf([lost])).toEqual(['src/billing/a.ts imports src/billing/b, which is no file']);
  });

  it('reports a cycle of imports in the browser app', () => {
    const sources = readSources();
    const [from, to] = ['src/portal/app/api.ts', 'src/portal/app/session.tsx'];
    expect(sources.find(({ path }) => path === to)?.imports).toContainEqual(expect.objectContaining({ target: from }));
    sources.find(({ path }) => path === from)?.imports.push({ target: to, relative: true, typeOnly: true });
    expect(cyclesOf(sources).flat()).toEqual(expect.arrayContaining([from, to]));
  });

  it('reports what the browser app imports or loads besides the SDK and pure files', () => {
    const page = source('src/portal/app/pages/a.tsx', '', 'src/calls/gateway.ts');
    const gateway = source('src/calls/gateway.ts', '', '@temporalio/client');
    const why = 'The browser app gets types and tables of constraints, but no validator.';
    expect(faultsOf([page, gateway])).toEqual([
      'src/portal/app/pages/a.tsx imports src/calls/gateway.ts. The browser app imports the SDK, pure files and types.',
      `src/portal/app/pages/a.tsx loads src/calls/gateway.ts loads @temporalio/client. ${why}`,
    ]);
    const form = source('src/portal/app/pages/a.tsx', '', 'src/agents/schemas.ts');
    const schemas = source('src/agents/schemas.ts', '', 'zod');
    expect(faultsOf([form, schemas])).toEqual([
      `src/portal/app/pages/a.tsx loads src/agents/schemas.ts loads zod. ${why}`,
    ]);
    form.imports[0]!.typeOnly = true;
    expect(faultsOf([form, schemas])).toEqual([]);
  });

  it('counts the lines of functions and recognizes factories', () => {
    const lines = Array.from({ length: 70 }, (_, n) => `  const v${n} = ${n};`).join('\n');
    const text = `/** Two. */\nexport function long() {\n${lines}\n}\n\nexport function createX() {\n${lines}\n  return { ask() { return 1; } };\n}\n`;
    const found = functionsOf(source('src/billing/a.ts', text));
    expect(found).toContainEqual({ name: 'long', lines: 72, isFactory: false });
    expect(found).toContainEqual({ name: 'createX', lines: 73, isFactory: true });
    expect(faultsOf([source('src/billing/a.ts', text)])).toEqual([
      'src/billing/a.ts: function long has 72 lines, 60 are allowed',
    ]);
  });

  it('measures components of the browser app', () => {
    const rows = Array.from({ length: 60 }, (_, n) => `      <li>${n}</li>`).join('\n');
    const text = `export function Long() {\n  return (\n    <ul>\n${rows}\n    </ul>\n  );\n}\n`;
    const path = 'src/portal/app/pages/a.tsx';
    expect(faultsOf([source(path, text)])).toEqual([`${path}: function Long has 66 lines, 60 are allowed`]);
  });

  it('reports a name that two files export', () => {
    const one = source('src/billing/a.ts', 'export interface Place {}\n');
    const two = source('src/voice/b.ts', 'export const Place = 1;\n');
    expect(faultsOf([one, two])).toEqual(['Place is exported by src/billing/a.ts and src/voice/b.ts']);
    const list = source('src/voice/c.ts', 'const a = 1;\ninterface B {}\nexport { type B, a as Place };\n');
    expect(faultsOf([one, list])).toEqual(['Place is exported by src/billing/a.ts and src/voice/c.ts']);
    const again =
      "import { type Place } from './a.js';\nexport type { Place };\nexport { Place as Other } from './a.js';\n";
    expect(faultsOf([one, source('src/voice/d.ts', again)])).toEqual([]);
    const page = source('src/portal/app/pages/c.tsx', 'export function Place() {}\n');
    expect(faultsOf([one, page])).toEqual(['Place is exported by src/billing/a.ts and src/portal/app/pages/c.tsx']);
  });
});
