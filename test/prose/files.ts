import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sourceFiles } from '../support/regular-expressions.js';
import { ROOT } from '../structure/sources.js';

const SOURCE_FOLDERS = ['src', 'workflows', 'activities', 'workers', 'deploy', 'test'];
const DOCUMENT_FOLDERS = ['docs', '.github'];
/** Files in which `#` begins a comment. Generated files are not listed. */
const HASH_FILES = [
  '.ci/run',
  '.ci/check-commits',
  'Dockerfile',
  'deploy/Caddyfile',
  'deploy/Caddyfile.loopback',
  'deploy/helm/check',
  'deploy/helm/callwright/values.yaml',
  'deploy/helm/values/managed.yaml',
  'deploy/helm/values/production.yaml',
  'deploy/helm/values/small.yaml',
  'deploy/temporal-dynamic-config.yaml',
];
const ISSUE_FORMS = '.github/ISSUE_TEMPLATE';

/** A file to lint. Its path is relative to the repository's root. */
export interface ProseFile {
  path: string;
  text: string;
}

export function readSourceFiles(): ProseFile[] {
  return sourceFiles(ROOT, SOURCE_FOLDERS).map(read);
}

/** Reads the scripts and settings with `#` comments, and GitHub's issue forms. */
export function readHashFiles(): ProseFile[] {
  const forms = readdirSync(join(ROOT, ISSUE_FORMS)).filter((name) => name.endsWith('.yml'));
  return [...HASH_FILES, ...forms.map((name) => `${ISSUE_FORMS}/${name}`)].map(read);
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
