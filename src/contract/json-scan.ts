/**
 * How deeply arrays and objects nest in a JSON text and which keys its outermost object repeats, without parsing it:
 * parsers of nested text exhaust the stack, and they silently keep the last of two equal keys.
 */
export function scanJson(json: string): { depth: number; repeatedKeys: ReadonlySet<string> } {
  let level = 0;
  let depth = 0;
  const keys = new Set<string>();
  const repeatedKeys = new Set<string>();
  for (let i = 0; i < json.length; i++) {
    const character = json[i];
    if (character === '{' || character === '[') depth = Math.max(depth, ++level);
    else if (character === '}' || character === ']') level--;
    else if (character === '"') {
      const end = endOfString(json, i);
      if (level === 1 && isFollowedByColon(json, end)) {
        const key = unescaped(json.slice(i, end + 1));
        (keys.has(key) ? repeatedKeys : keys).add(key);
      }
      i = end;
    }
  }
  return { depth, repeatedKeys };
}

/** Index of the closing quote; the end of the text when there is none. */
function endOfString(json: string, start: number): number {
  for (let i = start + 1; i < json.length; i++) {
    if (json[i] === '\\') i++;
    else if (json[i] === '"') return i;
  }
  return json.length;
}

function isFollowedByColon(json: string, end: number): boolean {
  let i = end + 1;
  while (i < json.length && /\s/.test(json[i] ?? '')) i++;
  return json[i] === ':';
}

/** The key as the parser will read it, so that an escaped spelling does not hide a repeat. */
function unescaped(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1);
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal;
  }
}
