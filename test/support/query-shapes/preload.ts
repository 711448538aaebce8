import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const ROOT = join(__dirname, '../../..');

/**
 * Lets the processes that tests start record the shapes of their queries, as the tests themselves do: builds the recorder and
 * sets TEST_PRELOAD, the options of Node.js for these processes.
 * @param file where shapes are written
 */
export async function recordQueries(env: NodeJS.ProcessEnv, file: string): Promise<void> {
  // In this folder it finds mongoose.
  const outfile = join(ROOT, 'node_modules/.cache/callwright-tests/record-shapes.cjs');
  await mkdir(join(outfile, '..'), { recursive: true });
  const entry = join(__dirname, 'record-shapes.ts');
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    packages: 'external',
    logLevel: 'error',
  });
  env['TEST_QUERY_SHAPES'] = file;
  env['TEST_ROOT'] = ROOT;
  env['TEST_PRELOAD'] = `--require ${JSON.stringify(outfile)}`;
}
