import { posix } from 'node:path';
import { LIMITS, LOADED, NARROWER, OWN_WORDS, PARTS, PURE, PURE_PACKAGES } from './rules.js';
import { parse, type SourceFile } from './sources.js';

/** Returns every violation of the rules in the sources, each as one line. */
export function faultsOf(sources: readonly SourceFile[]): string[] {
  return [
    ...sources.flatMap(importFaults),
    ...loadFaults(sources),
    ...cyclesOf(sources).map((cycle) => `import cycle: ${cycle.join(' -> ')}`),
    ...sources.flatMap(sizeFaults),
    ...sources.flatMap(wordFaults),
    ...folderFaults(sources),
    ...nameFaults(sources),
  ];
}

function rankOf(path: string): number {
  // The longest matching path counts: src/voice/audio before src/voice.
  const fitting = PARTS.filter(({ at }) => path === at || path.startsWith(`${at}/`));
  const part = fitting.toSorted((a, b) => b.at.length - a.at.length)[0];
  return part === undefined ? -1 : PARTS.indexOf(part);
}

const isPure = (path: string) => PURE.some((pattern) => pattern.test(path));

function importFaults({ path, imports }: SourceFile): string[] {
  const faults: string[] = [];
  const rank = rankOf(path);
  if (rank < 0) faults.push(`${path} belongs to no part of the table`);
  for (const { target, relative, typeOnly, isMissing } of imports) {
    const fault = `${path} imports ${target}`;
    if (isMissing) faults.push(`${fault}, which is no file`);
    // Workflows may import the types of their activities.
    const isProxyType = path.startsWith('workflows/') && typeOnly && target.startsWith('activities/');
    if (relative && rankOf(target) > rank && !isProxyType) faults.push(`${fault}, which comes after it`);
    if (isPure(path) && !(relative ? isPure(target) : PURE_PACKAGES.includes(target)))
      faults.push(`${fault}, which is not pure`);
    for (const { from, only, why } of NARROWER) {
      if (from.test(path) && relative && !typeOnly && !only.test(target) && !isPure(target)) {
        faults.push(`${fault}. ${why}`);
      }
    }
  }
  return faults;
}

/** Finds packages that a part loads, directly or by files that it imports, although it may not. */
function loadFaults(sources: readonly SourceFile[]): string[] {
  const files = new Map(sources.map((source) => [source.path, source]));
  return LOADED.flatMap(({ from, packages, why }) => {
    const faults: string[] = [];
    const waysOf = new Map(sources.filter(({ path }) => from.test(path)).map(({ path }) => [path, [path]]));
    // The map grows in the loop, which also visits what is added.
    for (const [path, way] of waysOf) {
      for (const { target, relative, typeOnly } of files.get(path)?.imports ?? []) {
        if (typeOnly) continue;
        if (!relative && !packages.test(target)) faults.push(`${[...way, target].join(' loads ')}. ${why}`);
        if (relative && files.has(target) && !waysOf.has(target)) waysOf.set(target, [...way, target]);
      }
    }
    return faults;
  });
}

function wordFaults({ path, text }: SourceFile): string[] {
  return OWN_WORDS.flatMap(({ words, at, why }) => {
    const [word] = at.test(path) ? [] : (words.exec(text) ?? []);
    return word === undefined ? [] : [`${path} says ${word}. ${why}`];
  });
}

/** Finds cycles of imports: Tarjan's strongly connected components with more than one file. */
export function cyclesOf(sources: readonly SourceFile[]): string[][] {
  const targets = new Map(sources.map(({ path, imports }) => [path, imports.map(({ target }) => target)]));
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];

  function visit(path: string): void {
    index.set(path, index.size);
    low.set(path, index.get(path) ?? 0);
    stack.push(path);
    for (const next of targets.get(path) ?? []) {
      if (!targets.has(next)) continue;
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(path, Math.min(low.get(path) ?? 0, low.get(next) ?? 0));
    }
    if (low.get(path) !== index.get(path)) return;
    const component = stack.splice(stack.indexOf(path));
    if (component.length > 1) cycles.push(component);
  }

  for (const { path } of sources) if (!index.has(path)) visit(path);
  return cycles;
}

function sizeFaults(source: SourceFile): string[] {
  const lines = source.text.split('\n').length - 1;
  const tooLong =
    lines > LIMITS.fileLines ? [`${source.path} has ${lines} lines, ${LIMITS.fileLines} are allowed`] : [];
  const functions = functionsOf(source).filter(
    (each) => each.lines > (each.isFactory ? LIMITS.factoryLines : LIMITS.functionLines),
  );
  return [
    ...tooLong,
    ...functions.map(
      ({ name, lines: count, isFactory }) =>
        `${source.path}: ${isFactory ? 'factory' : 'function'} ${name} has ${count} lines, ` +
        `${isFactory ? LIMITS.factoryLines : LIMITS.functionLines} are allowed`,
    ),
  ];
}

interface Measured {
  name: string;
  lines: number;
  isFactory: boolean;
}

type Node = Record<string, unknown> & { type?: string; span?: { start: number; end: number } };

const FUNCTIONS = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'MethodProperty',
  'ClassMethod',
  'Constructor',
]);

/** Finds every function of a file, with its length in lines. */
export function functionsOf(source: SourceFile): Measured[] {
  const module = parse(source) as unknown as Node;
  // Positions count the bytes of all files that were parsed so far. The semicolon added in front marks where this file
  // begins.
  const begin = (module.span?.start ?? 0) + 1;
  const bytes = Buffer.from(source.text);
  const found: Measured[] = [];

  function walk(node: unknown, name: string): void {
    if (Array.isArray(node)) return node.forEach((each) => walk(each, name));
    if (typeof node !== 'object' || node === null) return;
    const each = node as Node;
    const own = nameOf(each) ?? name;
    if (each.type !== undefined && FUNCTIONS.has(each.type)) {
      // Some nodes of methods have no span. The span is then that of the function inside the node.
      const span = each.span ?? (each['function'] as Node | undefined)?.span;
      if (span !== undefined) {
        const text = bytes.subarray(span.start - begin, span.end - begin).toString();
        found.push({ name: own, lines: text.split('\n').length, isFactory: returnsFunctions(each) });
      }
    }
    for (const [key, value] of Object.entries(each)) if (key !== 'span') walk(value, own);
  }

  walk(module, '(anonymous)');
  return found;
}

function nameOf(node: Node): string | undefined {
  const identifier = (node['identifier'] ?? node['key'] ?? node['id']) as Node | undefined;
  return typeof identifier?.['value'] === 'string' ? identifier['value'] : undefined;
}

/** Returns whether a function returns an object literal with functions, directly or through a variable. */
function returnsFunctions(node: Node): boolean {
  const inner = node.type === 'ClassMethod' ? (node['function'] as Node) : node;
  const body = inner['body'] as Node | undefined;
  if (body === undefined || body === null) return false;
  if (isObjectOfFunctions(unwrapped(body))) return true;
  const statements = (body['stmts'] ?? []) as Node[];
  const named = new Set<string>();
  for (const statement of statements) {
    for (const declaration of (statement['declarations'] ?? []) as Node[]) {
      const name = (declaration['id'] as Node | undefined)?.['value'];
      if (typeof name === 'string' && isObjectOfFunctions(unwrapped(declaration['init']))) named.add(name);
    }
  }
  return statements.some((statement) => {
    if (statement.type !== 'ReturnStatement') return false;
    const argument = unwrapped(statement['argument']);
    return isObjectOfFunctions(argument) || (argument?.type === 'Identifier' && named.has(String(argument['value'])));
  });
}

function unwrapped(node: unknown): Node | undefined {
  const each = node as Node | undefined | null;
  if (each === undefined || each === null) return undefined;
  return ['ParenthesisExpression', 'TsSatisfiesExpression', 'TsAsExpression'].includes(each.type ?? '')
    ? unwrapped(each['expression'])
    : each;
}

function isObjectOfFunctions(node: Node | undefined): boolean {
  if (node?.type !== 'ObjectExpression') return false;
  const properties = (node['properties'] ?? []) as Node[];
  return properties.some((property) => {
    if (property.type === 'MethodProperty') return true;
    const value = unwrapped(property['value']);
    if (value?.type === 'ObjectExpression') return isObjectOfFunctions(value);
    return value?.type === 'ArrowFunctionExpression' || value?.type === 'FunctionExpression';
  });
}

function folderFaults(sources: readonly SourceFile[]): string[] {
  const counts = new Map<string, number>();
  for (const { path } of sources) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > LIMITS.filesInFolder)
    .map(([folder, count]) => `${folder} has ${count} files, ${LIMITS.filesInFolder} are allowed`);
}

const EXPORT = /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|const|class|interface|type|enum) (\w+)/gm;

const EXPORT_LIST = /^export (?:type )?\{([^}]*)\}(?!\s*from)/gm;
const IMPORTED = /^import ([^;'"]*) from /gm;

/** Returns the names that a file defines and exports, without those that it imports and exports again. */
function exportedNames(text: string): string[] {
  const imported = new Set(Array.from(text.matchAll(IMPORTED), ([, clause = '']) => clause.match(/\w+/g) ?? []).flat());
  const listed = Array.from(text.matchAll(EXPORT_LIST), ([, names = '']) => names.split(','))
    .flat()
    .map((entry) => entry.match(/\w+/g)?.filter((word) => word !== 'type') ?? [])
    .filter(([local]) => local !== undefined && !imported.has(local));
  return [...Array.from(text.matchAll(EXPORT), ([, name = '']) => name), ...listed.map((words) => words.at(-1) ?? '')];
}

/** Finds exported names that have more than one meaning. A schema and its type may share a name within a file. */
function nameFaults(sources: readonly SourceFile[]): string[] {
  const places = new Map<string, Set<string>>();
  for (const { path, text } of sources) {
    for (const name of exportedNames(text)) places.set(name, (places.get(name) ?? new Set()).add(path));
  }
  return [...places]
    .filter(([, paths]) => paths.size > 1)
    .map(([name, paths]) => `${name} is exported by ${[...paths].join(' and ')}`);
}
