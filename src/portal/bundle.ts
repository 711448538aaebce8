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
  const assets = join(out, 'assets');
  const worklet = await bundleScript(assets, 'talk-worklet', join(app, 'talk/talk-worklet.ts'));
  const { script, files } = await bundleScript(assets, 'app', join(app, 'main.tsx'), {
    TALK_WORKLET: JSON.stringify(worklet.script),
  });
  const icon = files.find((name) => /^logo-\w+\.svg$/.test(name));
  if (icon === undefined) throw new Error('esbuild produced no file for src/portal/app/shell/logo.svg.');
  const css = await readFile(join(app, 'styles/portal.css'), 'utf8');
  const style = `portal-${createHash('sha256').update(css).digest('hex').slice(0, 8)}.css`;
  await writeFile(join(out, 'assets', style), css);
  const page = await readFile(join(app, 'index.html'), 'utf8');
  const names = { script, style, icon };
  const filled = page.replace(/{{(script|style|icon)}}/g, (_, name: keyof typeof names) => names[name]);
  await writeFile(join(out, 'index.html'), filled);
}

/**
 * Builds one script and what it loads.
 * @param define constants of the script, as JavaScript
 * @returns the names of the script's file and of all files
 */
async function bundleScript(outdir: string, name: string, source: string, define: Record<string, string> = {}) {
  const { metafile } = await build({
    entryPoints: { [name]: source },
    define,
    outdir,
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
  const files = Object.entries(metafile.outputs).map(([path, { entryPoint }]) => ({
    name: basename(path),
    entryPoint,
  }));
  const script = files.find(({ entryPoint }) => entryPoint !== undefined && source.endsWith(entryPoint))?.name;
  if (script === undefined) throw new Error(`esbuild produced no script for ${source}.`);
  return { script, files: files.map(({ name }) => name) };
}

if (require.main === module) {
  bundlePortal(join(__dirname, '../../..')).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}
