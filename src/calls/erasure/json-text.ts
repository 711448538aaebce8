import { isJson } from '../../kernel/text.js';

/** How the texts and numbers of a JSON text are changed. */
export interface JsonChange {
  text: (text: string) => string;
  /** @returns JSON in place of a number as it is written */
  number: (literal: string) => string;
}

const NUMBER = /-?\d[\d.eE+-]*/y;

/**
 * Changes the texts, names and numbers of a JSON object or list. All else stays as it is written, such as spaces, digits that a
 * parser would round, and names that occur twice. Takes linear time.
 * @returns undefined if the text is no JSON object or list
 */
export function changeJson(json: string, change: JsonChange): string | undefined {
  if (!/^\s*[{[]/.test(json) || !isJson(json)) return undefined;
  const parts: string[] = [];
  for (let at = 0; at < json.length;) {
    const end = endOfToken(json, at);
    const token = json.slice(at, end);
    if (token.startsWith('"')) parts.push(changedText(token, change));
    else parts.push(/^[-\d]/.test(token) ? change.number(token) : token);
    at = end;
  }
  return parts.join('');
}

/** Returns where the text or number that begins at a position of valid JSON ends, or all that is before the next one. */
function endOfToken(json: string, start: number): number {
  if (json[start] === '"') return endOfText(json, start);
  NUMBER.lastIndex = start;
  if (NUMBER.test(json)) return NUMBER.lastIndex;
  let end = start + 1;
  while (end < json.length && !/["\d-]/.test(json.charAt(end))) end += 1;
  return end;
}

function endOfText(json: string, start: number): number {
  let end = start + 1;
  while (end < json.length && json[end] !== '"') end += json[end] === '\\' ? 2 : 1;
  return end + 1;
}

function changedText(literal: string, change: JsonChange): string {
  const text = JSON.parse(literal) as string;
  const changed = change.text(text);
  return changed === text ? literal : JSON.stringify(changed);
}
