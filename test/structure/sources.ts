import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { parseSync, type Module } from '@swc/core';

export const ROOT = join(__dirname, '../..');
const FOLDERS = ['src', 'workflows', 'activities', 'workers', 'deploy'];

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
  /** Present if no file has the path of a relative import. */
  isMissing?: true;
}

/** Reads the source files of the service and of the browser app, without tests. */
export function readSources(): SourceFile[] {
  const paths = FOLDERS.flatMap((folder) => filesIn(folder));
  const known = new Set(paths);
  return paths.map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    return { path, text, imports: importsOf(path, text, known) };
  });
}

/**
 * Returns the file of a relative import, and undefined if there is none. The service writes the ending `.js`, the browser
 * app writes no ending.
 */
export function fileOf(path: string, specifier: string, known: ReadonlySet<string>): string | undefined {
  const target = posix.join(posix.dirname(path), specifier);
  const base = target.replace(/\.js$/, '');
  const source = [`${base}.ts`, `${base}.tsx`, `${base}/index.ts`].find((each) => known.has(each));
  return source ?? (existsSync(join(ROOT, target)) ? target : undefined);
}

/** @returns the syntax tree of the source, to which a semicolon in front was added */
export function parse(source: SourceFile): Module {
  // Removes a hashbang line, because it is not a statement.
  return parseSync(`;${source.text.replace(/^#!/, '//')}`, {
    syntax: 'typescript',
    tsx: source.path.endsWith('.tsx'),
    target: 'es2022',
  });
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
    const target = fileOf(path, specifier, known);
    return target === undefined
      ? { target: posix.join(posix.dirname(path), specifier), relative: true, typeOnly, isMissing: true }
      : { target, relative: true, typeOnly };
  });
}
