import { parseSync } from '@swc/core';

/** The purpose of a passage: who reads it, and when. */
export type PassageKind = 'comment' | 'error' | 'log' | 'label' | 'help' | 'text' | 'test';

export interface Line {
  /** The line in the file, counted from 1. */
  line: number;
  text: string;
}

/**
 * Prose from a source file: a comment, or a string that people will read. `{name}` stands for each value inserted into
 * it.
 */
export interface Passage {
  kind: PassageKind;
  path: string;
  lines: Line[];
}

interface Node {
  type: string;
  span?: { start: number; end: number };
  [field: string]: unknown;
}

/** Comments that instruct a tool. */
const DIRECTIVE = /^\s*(?:oxlint-|eslint-|prettier-|oxfmt-|@ts-|istanbul|c8 |v8 |#__|@jsx|<reference|\/ <reference)/;
/** Object keys whose values are error messages. */
const ERROR_KEYS = new Set(['message', 'error', 'detail', 'problem']);
const LABEL_KEYS = new Set(['label', 'title', 'heading', 'placeholder', 'hint', 'caption', 'aria-label', 'alt']);
const HELP_KEYS = new Set(['description', 'summary', 'about']);
const LOG_METHODS = new Set(['trace', 'debug', 'info', 'warn', 'error', 'fatal']);
const HELP_METHODS = new Set([
  'description',
  'summary',
  'option',
  'requiredOption',
  'argument',
  'describe',
  'addHelpText',
]);
const ERROR_METHODS = new Set(['refine', 'addIssue', 'superRefine']);
const TEST_FUNCTIONS = new Set(['describe', 'it', 'test']);
/** JSX attributes whose text people see or hear. */
const SHOWN_ATTRIBUTES = new Set(['label', 'title', 'placeholder', 'hint', 'alt', 'heading', 'caption', 'aria-label']);

/**
 * Finds the prose in a TypeScript file: every comment, and every string that reads like words for a person. In test
 * files, finds only comments and test names.
 * @param path decides whether the file is a test and whether it may contain JSX
 */
export function passagesOf(path: string, text: string): Passage[] {
  const source = parseSource(path, text);
  const passages = [...commentsOf(path, source), ...stringsOf(path, source)];
  return passages.toSorted((a, b) => (a.lines[0]?.line ?? 0) - (b.lines[0]?.line ?? 0));
}

interface Source {
  body: Node[];
  /** The text in UTF-8 with one byte in front. The parser's spans count the bytes of this text. */
  bytes: Buffer;
  base: number;
  lineAt: (offset: number) => number;
}

function parseSource(path: string, text: string): Source {
  // The parser's spans continue from one file to the next. The added first statement marks where this file begins.
  const bytes = Buffer.from(`;${text.replace(/^#!/, '//')}`);
  const tsx = path.endsWith('.tsx');
  const { body } = parseSync(bytes.toString(), { syntax: 'typescript', tsx, decorators: true, target: 'es2022' });
  const nodes = body as unknown as Node[];
  const newlines: number[] = [];
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === 0x0a) newlines.push(i);
  const lineAt = (offset: number) => {
    let low = 0;
    let high = newlines.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((newlines[middle] ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  };
  return { body: nodes, bytes, base: nodes[0]?.span?.start ?? 0, lineAt };
}

function commentsOf(path: string, source: Source): Passage[] {
  const code = withoutLiterals(source);
  const passages: Passage[] = [];
  let previous: { passage: Passage; line: number } | undefined;
  for (const match of code.matchAll(/\/\/[^\n]*|\/\*[^]*?\*\//g)) {
    const original = source.bytes.subarray(match.index, match.index + match[0].length).toString();
    const line = source.lineAt(match.index);
    if (match[0].startsWith('/*')) {
      const passage = { kind: 'comment' as const, path, lines: blockLines(original, line) };
      if (!DIRECTIVE.test(passage.lines[0]?.text ?? '')) passages.push(passage);
      previous = undefined;
      continue;
    }
    const words = original.replace(/^\/{2,}\s?/, '');
    if (DIRECTIVE.test(words)) continue;
    const isAlone = code.slice(code.lastIndexOf('\n', match.index) + 1, match.index).trim() === '';
    if (previous !== undefined && isAlone && previous.line === line - 1) {
      previous.passage.lines.push({ line, text: words.trim() });
      previous.line = line;
    } else {
      const passage = { kind: 'comment' as const, path, lines: [{ line, text: words.trim() }] };
      passages.push(passage);
      previous = isAlone ? { passage, line } : undefined;
    }
  }
  return passages.filter(({ lines }) => lines.some(({ text }) => /[A-Za-z]{2}/.test(text)));
}

/**
 * Returns the source with strings, templates, regular expressions and JSX text replaced by blanks, one for each byte.
 */
function withoutLiterals({ body, bytes, base }: Source): string {
  const code = Buffer.from(bytes);
  code[0] = 0x20;
  const literals = new Set(['StringLiteral', 'TemplateElement', 'RegExpLiteral', 'JSXText']);
  walk(body, [], (node) => {
    if (!literals.has(node.type) || node.span === undefined) return;
    for (let i = node.span.start - base; i < node.span.end - base; i++) if (code[i] !== 0x0a) code[i] = 0x20;
  });
  return code.toString('latin1');
}

function blockLines(comment: string, line: number): Line[] {
  const rows = comment
    .replace(/^\/\*+/, '')
    .replace(/\*+\/$/, '')
    .split('\n');
  return rows.map((row, index) => ({ line: line + index, text: row.replace(/^\s*\*(?!\w)\s?/, '').trim() }));
}

function stringsOf(path: string, source: Source): Passage[] {
  const passages: Passage[] = [];
  const isTest = path.startsWith('test/');
  const taken = new Set<Node>();
  walk(source.body, [], (node, ancestors) => {
    if (taken.has(node)) return;
    const lines = linesOfString(node, source, taken);
    if (lines === undefined) return;
    const kind = kindOf(node, ancestors);
    if (kind === undefined || (isTest && kind !== 'test')) return;
    const words = lines.map(({ text }) => text).join(' ');
    if (!(kind === 'label' ? /[A-Za-z]{3}/ : /[A-Za-z]{2,}[,;:]? [A-Za-z(“‘"'{%]/).test(words) || looksLikeCode(words))
      return;
    passages.push({ kind, path, lines });
  });
  return passages;
}

/** Returns the lines of a string, a template, JSX text, or strings joined by `+`; undefined for every other node. */
function linesOfString(node: Node, source: Source, taken: Set<Node>): Line[] | undefined {
  const start = source.lineAt((node.span?.start ?? source.base) - source.base);
  switch (node.type) {
    case 'StringLiteral':
      return [{ line: start, text: String(node['value']).trim() }];
    case 'JSXText':
      return linesFrom(String(node['value']), start);
    case 'TemplateLiteral': {
      // A template in a type has no expressions.
      if (!Array.isArray(node['expressions'])) return undefined;
      const values = (node['expressions'] as Node[]).map((value) => valueName(value, source));
      const quasis = node['quasis'] as { raw: string }[];
      return linesFrom(quasis.map(({ raw }, index) => raw + (values[index] ?? '')).join(''), start);
    }
    case 'BinaryExpression': {
      if (node['operator'] !== '+') return undefined;
      const sides = [node['left'] as Node, node['right'] as Node];
      const lines = sides.map((side) => linesOfString(side, source, taken));
      if (lines.every((each) => each === undefined)) return undefined;
      for (const side of sides) taken.add(side);
      return lines.flatMap((each) => each ?? []);
    }
    default:
      return undefined;
  }
}

function linesFrom(text: string, start: number): Line[] {
  return text.split('\n').map((row, index) => ({ line: start + index, text: row.replaceAll('\\`', '`').trim() }));
}

/** Returns the name that stands for an inserted value: the value's own name, if that is short. */
function valueName(value: Node, { bytes, base }: Source): string {
  const { start, end } = value.span ?? { start: base, end: base };
  const code = bytes.subarray(start - base, end - base).toString();
  return /^[\w.]{1,40}$/.test(code) ? `{${code}}` : '{value}';
}

function looksLikeCode(words: string): boolean {
  return /^\s*(?:\{(?!\})|[[#.]|@media|--|[a-z-]+:\s*[\w#.-]+;|import |const |function )|=>|;\s*\}|\{[^}]*:[^}]*;/.test(
    words,
  );
}

/**
 * Returns the kind of passage that a string is; undefined if it is not prose but, for example, an import, a type or a
 * class name.
 */
function kindOf(node: Node, ancestors: readonly Node[]): PassageKind | undefined {
  for (let i = ancestors.length - 1; i >= 0; i--) {
    const ancestor = ancestors[i];
    if (ancestor === undefined) continue;
    const inCallee = ancestor['callee'] !== undefined && ancestor['callee'] === ancestors[i + 1];
    const decided = inCallee ? undefined : kindWithin(ancestor, node);
    if (decided !== undefined) return decided === 'none' ? undefined : decided;
  }
  return node.type === 'JSXText' ? 'label' : 'text';
}

function kindWithin(ancestor: Node, node: Node): PassageKind | 'none' | undefined {
  switch (ancestor.type) {
    case 'ImportDeclaration':
    case 'ExportAllDeclaration':
    case 'TsLiteralType':
    case 'TsImportType':
      return 'none';
    case 'JSXAttribute':
      return SHOWN_ATTRIBUTES.has(nameOf(ancestor['name'])) ? 'label' : 'none';
    case 'ThrowStatement':
      return 'error';
    case 'NewExpression':
      return /(?:Error|Violation|Refused|Failed|Missing|Fault)$/.test(nameOf(ancestor['callee'])) ? 'error' : undefined;
    case 'KeyValueProperty': {
      if (ancestor['key'] === node) return 'none';
      const key = nameOf(ancestor['key']);
      if (ERROR_KEYS.has(key)) return 'error';
      if (LABEL_KEYS.has(key)) return 'label';
      return HELP_KEYS.has(key) ? 'help' : undefined;
    }
    case 'CallExpression':
      return kindOfCall(ancestor['callee'] as Node);
    case 'ArrowFunctionExpression':
    case 'FunctionExpression':
    case 'FunctionDeclaration':
    case 'ClassMethod':
      return node.type === 'JSXText' ? 'label' : 'text';
    default:
      return undefined;
  }
}

function kindOfCall(callee: Node): PassageKind | undefined {
  if (callee.type === 'Identifier') return TEST_FUNCTIONS.has(nameOf(callee)) ? 'test' : undefined;
  // The call has the form it.each(rows)('name').
  if (callee.type === 'CallExpression') return TEST_FUNCTIONS.has(rootOf(callee)) ? 'test' : undefined;
  if (callee.type !== 'MemberExpression') return undefined;
  const method = nameOf(callee['property']);
  // The call is a test with a modifier. The arguments of `each` are rows, not a name.
  if (TEST_FUNCTIONS.has(rootOf(callee))) return method === 'each' ? undefined : 'test';
  const object = callee['object'] as Node;
  const owner = object.type === 'MemberExpression' ? nameOf(object['property']) : nameOf(object);
  if (LOG_METHODS.has(method) && /log/i.test(owner)) return 'log';
  if (ERROR_METHODS.has(method)) return 'error';
  return HELP_METHODS.has(method) ? 'help' : undefined;
}

/** Returns the first name in a chain of calls and members, such as `it` in `it.skip.each(rows)`. */
function rootOf(node: Node): string {
  if (node.type === 'CallExpression') return rootOf(node['callee'] as Node);
  return node.type === 'MemberExpression' ? rootOf(node['object'] as Node) : nameOf(node);
}

function nameOf(node: unknown): string {
  if (typeof node !== 'object' || node === null) return '';
  const { type, value, name } = node as Node;
  if (type === 'Identifier' || type === 'StringLiteral') return String(value);
  return type === 'JSXNamespacedName' ? nameOf(name) : '';
}

function walk(node: unknown, ancestors: Node[], visit: (node: Node, ancestors: readonly Node[]) => void): void {
  if (Array.isArray(node)) {
    for (const each of node) walk(each, ancestors, visit);
    return;
  }
  if (typeof node !== 'object' || node === null) return;
  const isNode = typeof Reflect.get(node, 'type') === 'string';
  if (isNode) {
    visit(node as Node, ancestors);
    ancestors.push(node as Node);
  }
  for (const each of Object.values(node)) walk(each, ancestors, visit);
  if (isNode) ancestors.pop();
}
