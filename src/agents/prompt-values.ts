import { byteCount } from '../kernel/text.js';

const MAX_VALUE_CHARACTERS = 500;
/** Of all values that a text names, as they are written, since one may be named thousands of times. */
export const MAX_FILLED_BYTES = 16_384;
/** Of the lines that are made of each kind of parameters: a short name becomes a line many times as long. */
export const MAX_LISTED_BYTES = 32_768;
const PLACEHOLDER = /\{\{\s*([\w.-]{1,64})\s*\}\}/g;
const LEFT_OUT = '- (the rest is left out)';

type Scalar = string | number | boolean | null;

/** Marks a value as data. The two characters are taken out of values, so that none can end its own marking. */
export const marked = (value: string) => `⟦${value}⟧`;

/** A value as an instruction holds it. */
const inInstruction = (value: string) => marked(value === '' ? 'not given' : value);

/**
 * Puts input parameters in the place of their names: `{{name}}`, or `{{order.id}}` into an object. Each value becomes one
 * line of plain text of at most 500 characters, and is itself not looked through for names. Without a value, or
 * once the values have 16,384 bytes together as they are written: nothing.
 * @param as how a value is written; as it is, unless a prompt must tell data from instructions
 */
export function filled(
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

/** An instruction with its parameters filled in, marked as data. */
export function filledInstruction(instruction: string, inputParameters: Record<string, unknown>): string {
  return filled(instruction, inputParameters, inInstruction);
}

/** Whether the values that an instruction names have room in a prompt. */
export function fitsFilled(instruction: string, inputParameters: Record<string, unknown>): boolean {
  let bytes = 0;
  const written = valueWriter(inputParameters, inInstruction);
  for (const [, name = ''] of instruction.matchAll(PLACEHOLDER)) {
    bytes += byteCount(written(name));
    if (bytes > MAX_FILLED_BYTES) return false;
  }
  return true;
}

/** Each value is made once, however often it is named. */
function valueWriter(parameters: Record<string, unknown>, as: (value: string) => string): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const value = known.get(name) ?? as(plain(textOf(valueOf(parameters, name))));
    known.set(name, value);
    return value;
  };
}

/** A line for each key of a template: its name, and what kind of answer it takes. */
export function findingLines(template: Record<string, Scalar>): string[] {
  return Object.entries(template).map(([key, value]) => `- ${marked(plain(key))} (${kindOf(value)})`);
}

/** A line for each parameter: its name and value. */
export function dataLines(parameters: Record<string, unknown>): string[] {
  const entries = Object.entries(parameters);
  return entries.map(([name, value]) => `- ${marked(plain(name))}: ${marked(plain(textOf(value)))}`);
}

/** Whether lines made of parameters have room in a prompt. */
export function fitsListed(lines: readonly string[]): boolean {
  return endOfListed(lines) === lines.length;
}

/** The first lines that have room in a prompt, and a last one that says so when there are more. */
export function listed(lines: readonly string[]): string[] {
  const end = endOfListed(lines);
  return end === lines.length ? [...lines] : [...lines.slice(0, end), LEFT_OUT];
}

function endOfListed(lines: readonly string[]): number {
  let bytes = 0;
  const end = lines.findIndex((line) => (bytes += byteCount(line) + 1) > MAX_LISTED_BYTES);
  return end < 0 ? lines.length : end;
}

/** One line without control, format or unpaired characters and without our own marks. */
export function plain(text: string, maxCharacters = MAX_VALUE_CHARACTERS): string {
  const line = text
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[⟦⟧]|\{\{|\}\}/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  // By characters, not by halves of them.
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
  return value.includes('|') ? `one of: ${marked(plain(value))}` : `text, ${marked(plain(value))} if nothing is said`;
}

/** A parameter by its name, or by a path into objects; only what the request itself holds. */
function valueOf(parameters: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(parameters, name)) return parameters[name];
  return name.split('.').reduce<unknown>((value, key) => {
    const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    return isObject ? (value as Record<string, unknown>)[key] : undefined;
  }, parameters);
}
