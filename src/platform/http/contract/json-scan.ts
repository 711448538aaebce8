/** The result of scanning a JSON text. */
export interface JsonScan {
  depth: number;
  /** Keys that occur more than once in the outermost object. */
  repeatedKeys: ReadonlySet<string>;
  /** Number of members of all lists and objects together. */
  members: number;
  /** The list or object with the most members, and the outermost field that contains it. */
  largest: { members: number; isList: boolean; field?: string };
}

interface Container {
  isList: boolean;
  commas: number;
  field?: string;
}

/**
 * Scans a JSON text in linear time before it is parsed. Parsers overflow the stack on deep nesting and silently use the
 * last of two equal keys, and validation costs far more per member than this scan.
 */
export function scanJson(json: string): JsonScan {
  const open: Container[] = [];
  const keys = new Set<string>();
  const scan = { depth: 0, repeatedKeys: new Set<string>(), members: 0, largest: { members: 0, isList: false } };
  let field: string | undefined;
  for (let i = 0; i < json.length; i++) {
    const character = json[i];
    if (character === '{' || character === '[') {
      const within = open.length > 0 && field !== undefined ? { field } : {};
      open.push({ isList: character === '[', commas: 0, ...within });
      scan.depth = Math.max(scan.depth, open.length);
    } else if (character === '}' || character === ']') close(open.pop(), scan);
    else if (character === ',') countComma(open.at(-1));
    else if (character === '"') {
      const end = endOfString(json, i);
      if (open.length === 1 && isFollowedByColon(json, end)) {
        field = unescaped(json.slice(i, end + 1));
        (keys.has(field) ? scan.repeatedKeys : keys).add(field);
      }
      i = end;
    }
  }
  // A truncated text also fails to parse, so no error is needed here.
  return scan;
}

function countComma(container: Container | undefined): void {
  if (container) container.commas += 1;
}

/** Ends a list or object. An empty one counts as having one member. */
function close(container: Container | undefined, scan: JsonScan): void {
  if (container === undefined) return;
  const { commas, ...what } = container;
  const members = commas + 1;
  scan.members += members;
  if (members > scan.largest.members) scan.largest = { members, ...what };
}

/** Returns the index of the closing quote, or the length of the text if there is none. */
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

/** Returns the key as the parser reads it. Otherwise a duplicate could be hidden by writing it with escapes. */
function unescaped(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1);
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal;
  }
}
