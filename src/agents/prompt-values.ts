import { byteCount } from '../kernel/text.js';

const MAX_VALUE_CHARACTERS = 500;
/** Maximum bytes of all inserted values in one text, since a value can be referenced thousands of times. */
export const MAX_FILLED_BYTES = 16_384;
/** Maximum bytes of all prompt lines made from one parameter list. A short name can produce a much longer line. */
export const MAX_LISTED_BYTES = 32_768;
const PLACEHOLDER = /\{\{\s*([\w.-]{1,64})\s*\}\}/g;
const LEFT_OUT = '- (the rest is left out)';

type Scalar = string | number | boolean | null;

/**
 * Encloses a value in delimiters that mark it as data. Values cannot contain the delimiters, so no value can end the
 * data early.
 */
export const marked = (value: string) => `⟦${value}⟧`;

const inInstruction = (value: string) => marked(value === '' ? 'not given' : value);

/**
 * Replaces placeholders by input parameters: `{{name}}`, or `{{order.id}}` for a path into an object. Each value
 * becomes one line of plain text of at most 500 characters; placeholders inside values are not replaced. Missing
 * values, and all values after the first 16,384 inserted bytes, become empty.
 * @param as formats a value; needed where a prompt must tell data from instructions
 */
export function fillParameters(
  text: string,
  inputParameters: Record<string, unknown>,
  as: (value: string) => string = (value) => value,
): string {
  let left = MAX_FILLED_BYTES;
  const written = valueWriter(inputParameters, as);
  return text.replace(PLACEHOLDER, (_, name: string) => {
    if (left <= 0) return '';
    const value = written(name);
    left -= byteCount(value);
    return value;
  });
}

/** Fills the parameters into an instruction, delimited as data. */
export function filledInstruction(instruction: string, inputParameters: Record<string, unknown>): string {
  return fillParameters(instruction, inputParameters, inInstruction);
}

/** Whether all values that an instruction references fit into `MAX_FILLED_BYTES`. */
export function fitsFilled(instruction: string, inputParameters: Record<string, unknown>): boolean {
  let bytes = 0;
  const written = valueWriter(inputParameters, inInstruction);
  for (const [, name = ''] of instruction.matchAll(PLACEHOLDER)) {
    bytes += byteCount(written(name));
    if (bytes > MAX_FILLED_BYTES) return false;
  }
  return true;
}

/**
 * Returns a function that formats a parameter by name. It formats each value only once, however often it is referenced.
 */
function valueWriter(parameters: Record<string, unknown>, as: (value: string) => string): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const value = known.get(name) ?? as(toPlainLine(textOf(valueOf(parameters, name))));
    known.set(name, value);
    return value;
  };
}

/** Returns one prompt line per key of an output template: the key and the expected type of its value. */
export function findingLines(template: Record<string, Scalar>): string[] {
  return Object.entries(template).map(([key, value]) => `- ${marked(toPlainLine(key))} (${kindOf(value)})`);
}

/** Returns one prompt line per parameter: its name and value. */
export function dataLines(parameters: Record<string, unknown>): string[] {
  const entries = Object.entries(parameters);
  return entries.map(([name, value]) => `- ${marked(toPlainLine(name))}: ${marked(toPlainLine(textOf(value)))}`);
}

/** Whether the prompt lines fit into `MAX_LISTED_BYTES`. */
export function fitsListed(lines: readonly string[]): boolean {
  return endOfListed(lines) === lines.length;
}

/** Returns the first lines that fit into `MAX_LISTED_BYTES`, plus a note if lines are left out. */
export function listParameters(lines: readonly string[]): string[] {
  const end = endOfListed(lines);
  return end === lines.length ? [...lines] : [...lines.slice(0, end), LEFT_OUT];
}

function endOfListed(lines: readonly string[]): number {
  let bytes = 0;
  const end = lines.findIndex((line) => (bytes += byteCount(line) + 1) > MAX_LISTED_BYTES);
  return end < 0 ? lines.length : end;
}

/**
 * Reduces a text to one line without control and format characters, unpaired surrogates, delimiters and placeholder
 * braces.
 */
export function toPlainLine(text: string, maxCharacters = MAX_VALUE_CHARACTERS): string {
  const line = text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[⟦⟧]|\{\{|\}\}/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  // Cut between code points, not inside surrogate pairs.
  return Array.from(line).slice(0, maxCharacters).join('');
}

export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function kindOf(value: Scalar): string {
  if (typeof value === 'boolean') return 'yes or no';
  if (typeof value === 'number') return 'a number';
  if (typeof value !== 'string' || value === '') return 'text, a number, or yes or no';
  return value.includes('|')
    ? `one of: ${marked(toPlainLine(value))}`
    : `text, ${marked(toPlainLine(value))} if nothing is said`;
}

/** Looks up a parameter by name, or by a path into objects. Only own properties count. */
function valueOf(parameters: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(parameters, name)) return parameters[name];
  return name.split('.').reduce<unknown>((value, key) => {
    const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    return isObject ? (value as Record<string, unknown>)[key] : undefined;
  }, parameters);
}
