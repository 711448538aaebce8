import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sourceFiles } from '../support/regular-expressions.js';
import { ROOT } from '../structure/sources.js';

const SOURCE_FOLDERS = ['src', 'workflows', 'activities', 'workers', 'deploy', 'test'];
const DOCUMENT_FOLDERS = ['docs', '.github'];

/** A file to lint. Its path is relative to the repository's root. */
export interface ProseFile {
  path: string;
  text: string;
}

export function readSourceFiles(): ProseFile[] {
  return sourceFiles(ROOT, SOURCE_FOLDERS).map(read);
}

/** Reads the Markdown files at the top level and in the folders of documents. */
export function readDocuments(): ProseFile[] {
  const inFolders = DOCUMENT_FOLDERS.filter((folder) => existsSync(join(ROOT, folder))).flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(
      (name) => `${folder}/${name.replaceAll('\\', '/')}`,
    ),
  );
  return [...readdirSync(ROOT), ...inFolders]
    .filter((path) => path.endsWith('.md'))
    .toSorted()
    .map(read);
}

function read(path: string): ProseFile {
  return { path, text: readFileSync(join(ROOT, path), 'utf8') };
}
