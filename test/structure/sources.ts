import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { parseSync, type Module } from '@swc/core';

export const ROOT = join(__dirname, '../..');
const FOLDERS = ['src', 'workflows', 'activities', 'workers', 'deploy'];
/** The folder of the browser app, which is compiled separately, with its own tsconfig.json. */
const APP = 'src/portal/app';

export interface SourceFile {
  /** The path from the repository's root, with forward slashes. */
  path: string;
  text: string;
  imports: Import[];
}

export interface Import {
  /** The path from the root for a relative import, otherwise the name of the package. */
  target: string;
  relative: boolean;
  typeOnly: boolean;
}

/** Reads the source files of the service, without tests and without the browser app. */
export function readSources(): SourceFile[] {
  return readFiles(FOLDERS.flatMap((folder) => filesIn(folder)).filter((path) => !path.startsWith(APP)));
}

/** Reads the source files of the browser app. */
export function readBrowserApp(): SourceFile[] {
  return readFiles(filesIn(APP));
}

function readFiles(paths: readonly string[]): SourceFile[] {
  const known = new Set(paths);
  return paths.map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    return { path, text, imports: importsOf(path, text, known) };
  });
}

/** @returns the syntax tree of the source, to which a semicolon in front was added */
export function parse(source: SourceFile): Module {
  // Removes a hashbang line, because it is not a statement.
  return parseSync(`;${source.text.replace(/^#!/, '//')}`, { syntax: 'typescript', target: 'es2022' });
}

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.name.endsWith('.d.ts'))
    .map((entry) => posix.join(posix.relative(ROOT, entry.parentPath), entry.name))
    .toSorted();
}

const IMPORT = /(?:^|\n)\s*(?:import|export)\s+(type\s)?(?:([^'"();]*?)\s*from\s*)?'([^']+)'|\bimport\('([^']+)'\)/g;

function importsOf(path: string, text: string, known: ReadonlySet<string>): Import[] {
  return Array.from(text.matchAll(IMPORT), ([, type, names = '', from, dynamic]) => {
    const specifier = from ?? dynamic ?? '';
    const listed = /^\{([^}]*)\}$/s
      .exec(names.trim())?.[1]
      ?.split(',')
      .map((name) => name.trim())
      .filter(Boolean);
    const typeOnly = type !== undefined || (listed !== undefined && listed.every((name) => name.startsWith('type ')));
    if (!specifier.startsWith('.')) return { target: specifier, relative: false, typeOnly };
    const target = posix.join(dirname(path), specifier).replace(/\.js$/, '.ts');
    return { target: known.has(target) ? target : target.replace(/\.ts$/, '.tsx'), relative: true, typeOnly };
  });
}
