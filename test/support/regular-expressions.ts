import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runInNewContext } from 'node:vm';
import { parseSync } from '@swc/core';

/** A regular expression found in the sources. */
export interface FoundPattern {
  /** The file and line, such as `src/api/mount.ts:12`. */
  at: string;
  /** Null if the expression is not built from constants only. */
  pattern: string | null;
  flags: string;
}

interface Node {
  type: string;
  span?: { start: number };
  [field: string]: unknown;
}

/** String methods that convert a string argument to a regular expression. */
const MAKERS = new Set(['match', 'matchAll', 'search']);
/** Properties whose string value is a regular expression, in zod's schemas and in those of the service. */
const PATTERN_FIELDS = new Set(['pattern']);

/** Returns the paths of all TypeScript files in folders, relative to a root and with forward slashes. */
export function sourceFiles(root: string, folders: readonly string[]): string[] {
  return folders
    .flatMap((folder) => filesIn(join(root, folder)))
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.d.ts'))
    .map((path) => relative(root, path).replaceAll('\\', '/'))
    .toSorted();
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return [path];
    return entry.isDirectory() && entry.name !== 'node_modules' ? filesIn(path) : [];
  });
}

/**
 * Finds all regular expressions in some sources: literals, `new RegExp`, string arguments of `match`, `matchAll` and
 * `search`, and the `pattern` of JSON schemas.
 * @param sources the text of each source by its path
 */
export function findPatterns(sources: ReadonlyMap<string, string>): FoundPattern[] {
  const files = [...sources].map(([path, text]) => parsed(path, text));
  const everywhere = new Map(files.flatMap(({ constants }) => [...constants]));
  return files.flatMap((file) => {
    const found: FoundPattern[] = [];
    const valueOf = (node: unknown): string | null =>
      constantOf(node, (name) => file.constants.get(name) ?? everywhere.get(name));
    const add = (node: Node, pattern: string | null, flags: string) =>
      void found.push({ at: `${file.path}:${file.lineOf(node)}`, pattern, flags });
    walk(file.body, (node) => {
      if (node.type === 'RegExpLiteral')
        add(node, String(node['pattern']), typeof node['flags'] === 'string' ? node['flags'] : '');
      const [first, second] = argumentsOf(node);
      if (isRegExpConstructor(node)) add(node, valueOf(first), second === undefined ? '' : (valueOf(second) ?? ''));
      if (MAKERS.has(methodOf(node)) && first !== undefined && valueOf(first) !== null) add(node, valueOf(first), '');
      if (node.type === 'KeyValueProperty' && PATTERN_FIELDS.has(nameOf(node['key']))) {
        const value = node['value'] as Node;
        // A literal, or the `source` of a literal, is found at another place.
        const isElsewhere = value.type === 'RegExpLiteral' || propertyOf(value) === 'source' || isType(value);
        if (!isElsewhere) add(node['key'] as Node, valueOf(value), 'u');
      }
    });
    return found;
  });
}

function isType(node: Node): boolean {
  return node.type.startsWith('Ts');
}

function parsed(path: string, text: string) {
  // The parser's offsets count the bytes of all files that it has parsed. The added statement in front marks where this
  // file begins.
  const bytes = Buffer.from(`;${text.replace(/^#!/, '//')}`);
  const { body } = parseSync(bytes.toString(), { syntax: 'typescript', tsx: path.endsWith('.tsx'), target: 'es2022' });
  const base = body[0]?.span.start ?? 0;
  const lineOf = ({ span }: Node) => {
    let line = 1;
    for (let i = 0; i < (span?.start ?? base) - base; i++) if (bytes[i] === 0x0a) line++;
    return line;
  };
  const constants = new Map<string, string>();
  const resolve = (name: string) => constants.get(name);
  walk(body, (node) => {
    if (node.type !== 'VariableDeclarator') return;
    const value = constantOf(node['init'], resolve);
    const name = nameOf(node['id']);
    if (value !== null && name !== '') constants.set(name, value);
  });
  return { path, body, lineOf, constants };
}

function walk(node: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(node)) for (const each of node) walk(each, visit);
  else if (typeof node === 'object' && node !== null) {
    if (typeof Reflect.get(node, 'type') === 'string') visit(node as Node);
    for (const each of Object.values(node)) walk(each, visit);
  }
}

/** Returns the constant string value of an expression; null if the value is not constant. */
function constantOf(node: unknown, resolve: (name: string) => string | undefined): string | null {
  if (typeof node !== 'object' || node === null) return null;
  const expression = node as Node;
  switch (expression.type) {
    case 'StringLiteral':
      return literalOf(String(expression['raw']));
    case 'RegExpLiteral':
      return String(expression['pattern']);
    case 'Identifier':
      return resolve(String(expression['value'])) ?? null;
    case 'MemberExpression':
      return propertyOf(expression) === 'source' ? constantOf(expression['object'], resolve) : null;
    case 'ParenthesisExpression':
    case 'TsAsExpression':
    case 'TsConstAssertion':
      return constantOf(expression['expression'], resolve);
    case 'BinaryExpression': {
      const [left, right] = [constantOf(expression['left'], resolve), constantOf(expression['right'], resolve)];
      return expression['operator'] === '+' && left !== null && right !== null ? left + right : null;
    }
    case 'TaggedTemplateExpression':
      return isStringRaw(expression) ? templateOf(expression['template'] as Node, 'raw', resolve) : null;
    case 'TemplateLiteral':
      return templateOf(expression, 'cooked', resolve);
    default:
      return null;
  }
}

function templateOf(node: Node, form: 'raw' | 'cooked', resolve: (name: string) => string | undefined): string | null {
  const parts = (node['expressions'] as unknown[]).map((part) => constantOf(part, resolve));
  if (parts.includes(null)) return null;
  const quasis = (node['quasis'] as { raw: string }[]).map(({ raw }) =>
    form === 'raw' ? raw : literalOf(`\`${raw}\``),
  );
  return quasis.map((text, i) => text + (parts[i] ?? '')).join('');
}

/**
 * Evaluates a string literal. The parser's own value cannot be used, because it escapes what looks like a surrogate.
 */
function literalOf(source: string): string {
  return String(runInNewContext(source));
}

function isStringRaw(node: Node): boolean {
  const tag = node['tag'] as Node;
  return tag.type === 'MemberExpression' && nameOf(tag['object']) === 'String' && propertyOf(tag) === 'raw';
}

function isRegExpConstructor(node: Node): boolean {
  return (node.type === 'NewExpression' || node.type === 'CallExpression') && nameOf(node['callee']) === 'RegExp';
}

function argumentsOf(node: Node): unknown[] {
  const given = node['arguments'];
  return Array.isArray(given) ? given.map((each: { expression?: unknown }) => each.expression) : [];
}

function methodOf(node: Node): string {
  return node.type === 'CallExpression' ? propertyOf(node['callee'] as Node) : '';
}

function propertyOf(node: Node): string {
  return node.type === 'MemberExpression' ? nameOf(node['property']) : '';
}

function nameOf(node: unknown): string {
  if (typeof node !== 'object' || node === null) return '';
  const { type, value } = node as Node;
  return type === 'Identifier' || type === 'StringLiteral' ? String(value) : '';
}

/** Finds all regular expressions in an object at any depth, such as the formats of zod. */
export function patternsWithin(value: unknown): RegExp[] {
  const seen = new Set<unknown>();
  const found = new Map<string, RegExp>();
  const open = [value];
  while (open.length > 0) {
    const each = open.pop();
    if ((typeof each !== 'object' && typeof each !== 'function') || each === null || seen.has(each)) continue;
    seen.add(each);
    if (isRegExp(each)) found.set(String(each), each);
    else if (each instanceof Map || each instanceof Set) open.push(...each.values());
    else for (const name of Reflect.ownKeys(each)) open.push(valueOf(each, name));
  }
  return [...found.values()];
}

/** Returns true also for a regular expression of another realm, such as that of the test runner. */
function isRegExp(value: object): value is RegExp {
  return Object.prototype.toString.call(value) === '[object RegExp]';
}

/** Getters of prototypes are not called: those of zod replace themselves with a value, for all users of the package. */
function valueOf(object: object, name: string | symbol): unknown {
  try {
    const { constructor } = object;
    if (typeof constructor === 'function' && constructor.prototype === object) {
      return Reflect.getOwnPropertyDescriptor(object, name)?.value;
    }
    return Reflect.get(object, name);
  } catch {
    return undefined;
  }
}
