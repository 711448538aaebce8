import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

/**
 * Builds the portal from `src/portal/app` into `dist/portal`: one script per page, one style sheet, and the HTML page
 * that loads them. Names of script and style files contain a hash of their content.
 */
async function bundlePortal(root: string): Promise<void> {
  const app = join(root, 'src/portal/app');
  const out = join(root, 'dist/portal');
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const result = await build({
    entryPoints: { app: join(app, 'main.tsx') },
    outdir: join(out, 'assets'),
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: ['es2022'],
    platform: 'browser',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    metafile: true,
    logLevel: 'warning',
  });
  const entry = Object.entries(result.metafile.outputs).find(([, { entryPoint }]) => entryPoint?.endsWith('main.tsx'));
  if (entry === undefined) throw new Error('esbuild produced no script for src/portal/app/main.tsx.');
  const css = await readFile(join(app, 'styles/portal.css'), 'utf8');
  const style = `portal-${createHash('sha256').update(css).digest('hex').slice(0, 8)}.css`;
  await writeFile(join(out, 'assets', style), css);
  const page = await readFile(join(app, 'index.html'), 'utf8');
  await writeFile(join(out, 'index.html'), page.replace('{{script}}', basename(entry[0])).replace('{{style}}', style));
}

if (require.main === module) {
  bundlePortal(join(__dirname, '../../..')).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}
