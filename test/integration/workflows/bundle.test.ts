import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { PURE } from '../../structure/rules.js';

const BUNDLE = path.resolve(__dirname, '../../../dist/workers/workflow-bundle.js');

describe('the workflow bundle', () => {
  it('has only workflow code, pure files and the Temporal SDK, and nothing with side effects', async () => {
    const modules = modulesOf(await readFile(BUNDLE, 'utf8'));
    const ours = modules.filter((module) => module.startsWith('dist/')).map((module) => sourceOf(module));
    expect(ours).toContain('workflows/call.ts');
    const isAllowed = (file: string) => file.startsWith('workflows/') || PURE.some((pattern) => pattern.test(file));
    expect(ours.filter((file) => !isAllowed(file))).toEqual([]);
    const others = modules.filter((module) => !module.startsWith('dist/'));
    const temporalModule = /^node_modules\/(@temporalio\/(common|workflow)|long|ms|nexus-rpc)\//;
    expect(others.length).toBeGreaterThan(0);
    expect(others.filter((module) => !temporalModule.test(module))).toEqual([]);
  });

  it('would show a module of Node.js or of a package outside the bundle', () => {
    const bundle = '/***/ "./dist/workflows/call.js"\n/***/ "?31ff"\n/***/ "node:fs"\n/***/ "mongoose"\n';
    expect(modulesOf(bundle)).toEqual(['dist/workflows/call.js', 'node:fs', 'mongoose']);
  });
});

/** Returns the modules of a bundle, without those that the bundler replaces by nothing (`?31ff`). */
function modulesOf(bundle: string): string[] {
  return Array.from(bundle.matchAll(/^\/\*\*\*\/ "(?:\.\/)?([^"?][^"]*)"/gm), ([, module = '']) => module);
}

function sourceOf(module: string): string {
  return module.replace(/^dist\//, '').replace(/\.js$/, '.ts');
}
