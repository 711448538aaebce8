import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { parseSync, type Module } from '@swc/core';

export const ROOT = join(__dirname, '../..');
const FOLDERS = ['src', 'workflows', 'activities', 'workers', 'deploy'];
/** The browser app is compiled on its own; its pages are checked by its own configuration. */
const APP = 'src/portal/app';

export interface SourceFile {
  /** From the repository's root, with forward slashes. */
  path: string;
  text: string;
  imports: Import[];
}

export interface Import {
  /** A path from the root when the import is relative, else the package's specifier. */
  target: string;
  relative: boolean;
  typeOnly: boolean;
}

/** The sources of the service, without tests and without the browser app. */
export function readSources(): SourceFile[] {
  const paths = FOLDERS.flatMap((folder) => filesIn(folder));
  const known = new Set(paths);
  return paths.map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8');
    return { path, text, imports: importsOf(path, text, known) };
  });
}

/** @returns the tree of the source with a semicolon put in front */
export function parse(source: SourceFile): Module {
  // A program's first line is no statement.
  return parseSync(`;${source.text.replace(/^#!/, '//')}`, { syntax: 'typescript', target: 'es2022' });
}

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .map((entry) => posix.join(posix.relative(ROOT, entry.parentPath), entry.name))
    .filter((path) => !path.startsWith(APP))
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
