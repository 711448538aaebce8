import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { PURE } from '../../structure/rules.js';

const BUNDLE = path.resolve(__dirname, '../../../dist/workers/workflow-bundle.js');

describe('the workflow bundle', () => {
  it('has only workflow code, pure files and the Temporal SDK, and nothing with side effects', async () => {
    const modules = Array.from(
      (await readFile(BUNDLE, 'utf8')).matchAll(/^\/\*\*\*\/ "\.\/([^"]+\.js)"/gm),
      ([, module = '']) => module,
    );
    const ours = modules.filter((module) => module.startsWith('dist/')).map((module) => sourceOf(module));
    expect(ours).toContain('workflows/call.ts');
    const isAllowed = (file: string) => file.startsWith('workflows/') || PURE.some((pattern) => pattern.test(file));
    expect(ours.filter((file) => !isAllowed(file))).toEqual([]);
    const libraries = modules.filter((module) => module.startsWith('node_modules/'));
    const temporalModule = /^node_modules\/(@temporalio\/(common|workflow)|long|nexus-rpc)\//;
    expect(libraries.length).toBeGreaterThan(0);
    expect(libraries.filter((module) => !temporalModule.test(module))).toEqual([]);
  });
});

function sourceOf(module: string): string {
  return module.replace(/^dist\//, '').replace(/\.js$/, '.ts');
}
