import type { Passage } from './passages.js';

/** Keys of GitHub's issue forms whose values people read. */
const SHOWN_KEY = /^(?:- )?(?:name|description|label|about|value|placeholder): *(?:>|\|)?(.*)$/;

/**
 * Finds the comments of a file in which `#` begins a comment, such as a shell script. In the issue forms of GitHub,
 * which are YAML, finds the texts of the form, too. Comments after code on the same line are not found.
 */
export function hashPassagesOf(path: string, text: string): Passage[] {
  const isForm = path.startsWith('.github/');
  const passages: Passage[] = [];
  let previousLine = -1;
  for (const [index, line] of text.split('\n').entries()) {
    const words = /^\s*#(?!!)\s?(.*)$/.exec(line)?.[1] ?? (isForm ? formText(line) : undefined);
    if (words === undefined || !/[A-Za-z]{2}/.test(words)) continue;
    const entry = { line: index + 1, text: words.trim() };
    if (previousLine === index) passages.at(-1)?.lines.push(entry);
    else passages.push({ kind: isForm ? 'label' : 'comment', path, lines: [entry] });
    previousLine = index + 1;
  }
  return passages;
}

/** Returns the text in a line of an issue form; undefined for keys and values that people do not see. */
function formText(line: string): string | undefined {
  const content = line.trim();
  const shown = SHOWN_KEY.exec(content);
  if (shown !== null) return shown[1];
  return /^(?:- )?[\w-]+:/.test(content) ? undefined : content;
}
