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
    assetNames: '[name]-[hash]',
    publicPath: '/portal/assets',
    loader: { '.svg': 'file' },
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
  const icon = Object.keys(result.metafile.outputs).find((name) => /\/logo-\w+\.svg$/.test(name));
  if (icon === undefined) throw new Error('esbuild produced no file for src/portal/app/shell/logo.svg.');
  const css = await readFile(join(app, 'styles/portal.css'), 'utf8');
  const style = `portal-${createHash('sha256').update(css).digest('hex').slice(0, 8)}.css`;
  await writeFile(join(out, 'assets', style), css);
  const page = await readFile(join(app, 'index.html'), 'utf8');
  const names = { script: basename(entry[0]), style, icon: basename(icon) };
  const filled = page.replace(/{{(script|style|icon)}}/g, (_, name: keyof typeof names) => names[name]);
  await writeFile(join(out, 'index.html'), filled);
}

if (require.main === module) {
  bundlePortal(join(__dirname, '../../..')).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}
