import { readDocuments, type ProseFile } from './files.js';
import type { Line } from './passages.js';

export interface Paragraph {
  path: string;
  lines: Line[];
}

/**
 * Returns the paragraphs and list items of the Markdown files, without headings, tables, code blocks, quotes and HTML.
 */
export function paragraphsOf({ path, text }: ProseFile): Paragraph[] {
  const paragraphs: Paragraph[] = [];
  let open: Paragraph | undefined;
  let inCode = false;
  for (const [index, row] of text.split('\n').entries()) {
    const isFence = /^\s*(?:```|~~~)/.test(row);
    if (isFence) inCode = !inCode;
    if (inCode || isFence || /^\s*$|^#|^\s*\||^\s*<(?!https?:)|^\s*>|^\[[^\]]+\]:/.test(row)) {
      open = undefined;
      continue;
    }
    const isItem = /^\s*(?:[-*+]|\d+\.)\s/.test(row);
    if (open === undefined || isItem) {
      open = { path, lines: [] };
      paragraphs.push(open);
    }
    open.lines.push({ line: index + 1, text: row.trim() });
  }
  return paragraphs;
}

export function readParagraphs(): Paragraph[] {
  return readDocuments().flatMap(paragraphsOf);
}
