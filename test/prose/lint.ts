import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { ROOT } from '../structure/sources.js';
import { readDocuments, readHashFiles, readSourceFiles, type ProseFile } from './files.js';
import { hashPassagesOf } from './hash-comments.js';
import { passagesOf, type Line } from './passages.js';
import { runVale } from './vale.js';

export interface Problem {
  path: string;
  line: number;
  /** The name of the rule, such as `Terms`. */
  rule: string;
  message: string;
}

/** Lints documents as they are. Of each source file and script, lints a text with the file's comments and messages. */
export async function lintProse(vale: string): Promise<Problem[]> {
  const folder = mkdtempSync(join(tmpdir(), 'callwright-prose-'));
  try {
    const lineNumbers = writeTexts(folder, [...readSourceFiles(), ...readHashFiles()]);
    const documents = readDocuments().map(({ path }) => path);
    const found = await runVale(vale, ROOT, [folder, ...documents]);
    const problems = [...found].flatMap(([file, alerts]) => {
      const path = file.startsWith(folder) ? relative(folder, file).replace(/\.txt$/, '') : file;
      const lines = lineNumbers.get(path);
      return alerts.map((alert) => ({
        path,
        line: lines?.[alert.Line - 1] ?? alert.Line,
        rule: alert.Check.replace(/^Callwright\./, ''),
        message: alert.Message,
      }));
    });
    return problems.toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes the prose of each source file to a folder. @returns by file, the source line of each line that was written */
function writeTexts(folder: string, files: readonly ProseFile[]): Map<string, number[]> {
  const lineNumbers = new Map<string, number[]>();
  for (const { path, text } of files) {
    const lines = proseLines(path, text);
    if (lines.length === 0) continue;
    const file = join(folder, `${path}.txt`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${lines.map((line) => line.text).join('\n')}\n`);
    lineNumbers.set(
      path,
      lines.map(({ line }) => line),
    );
  }
  return lineNumbers;
}

/**
 * Returns every passage of a source file as a paragraph, followed by an empty line, with placeholders for code. A JSDoc
 * tag starts a new paragraph, which contains only the tag's description.
 */
export function proseLines(path: string, text: string): Line[] {
  const find = /\.tsx?$/.test(path) ? passagesOf : hashPassagesOf;
  return find(path, text).flatMap(({ lines }) => [
    ...lines.flatMap(({ line, text: words }) => {
      const prose = { line, text: withoutCode(withoutTag(words)) };
      return words.startsWith('@') ? [{ line, text: '' }, prose] : [prose];
    }),
    { line: lines.at(-1)?.line ?? 1, text: '' },
  ]);
}

function withoutTag(text: string): string {
  return text
    .replace(/^@(?:param|property|template)\s+(?:\{[^}]*\}\s*)?\[?[\w.$]+\]?\s*-?\s*/, '')
    .replace(/^@throws\s+(?:\{[^}]*\}|[A-Z]\w*)\s*/, '')
    .replace(/^@[a-z]\w*\s*/, '');
}

function withoutCode(text: string): string {
  return text.replace(/`[^`]*`|\{@link [^}]*\}|\{[\w.]*\}|\bhttps?:\/\/\S+/g, 'X');
}
