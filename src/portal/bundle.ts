import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build, type Plugin } from 'esbuild';

/** The files of the style sheet, in order. */
const STYLES = ['tokens.css', 'portal.css', 'shell.css', 'charts.css', 'call.css'];

const ICON_FILE = /lucide-static[\\/]icons[\\/][a-z0-9-]+\.svg$/;
const SHAPES = ['path', 'circle', 'ellipse', 'line', 'polygon', 'polyline', 'rect'];

/** Returns the elements of a drawing, with their attributes. */
function shapesOf(svg: string): [name: string, attributes: Record<string, string>][] {
  return svg.split('<').flatMap((tag) => {
    const name = SHAPES.find((each) => tag.startsWith(`${each} `));
    if (name === undefined) return [];
    // Quotes separate the names of attributes from their values.
    const parts = tag.slice(name.length).split('"');
    const attributes: Record<string, string> = {};
    for (let index = 0; index + 1 < parts.length; index += 2) {
      attributes[(parts[index] ?? '').trim().replace('=', '')] = parts[index + 1] ?? '';
    }
    return [[name, attributes]];
  });
}

/** Makes the shapes of each imported icon of Lucide a constant of the script, with the icon's license as a comment. */
const ICONS: Plugin = {
  name: 'icons',
  setup(bundle) {
    bundle.onLoad({ filter: ICON_FILE }, async ({ path }) => {
      const svg = await readFile(path, 'utf8');
      const [, license] = svg.slice(0, svg.indexOf(' -->')).split('<!-- ');
      const shapes = shapesOf(svg);
      if (license === undefined || shapes.length === 0) throw new Error(`${path} is not an icon of Lucide.`);
      return { contents: `/*! ${license} */ export default ${JSON.stringify(shapes)};`, loader: 'js' };
    });
  },
};

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
  const styles = await Promise.all(STYLES.map((name) => readFile(join(app, 'styles', name), 'utf8')));
  const css = styles.join('\n');
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
    plugins: [ICONS],
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
