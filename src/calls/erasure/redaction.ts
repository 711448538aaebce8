import { isDeepStrictEqual } from 'node:util';
import type { mongo } from 'mongoose';
import { changeJson } from './json-text.js';
import type { NumberPattern } from './number-pattern.js';
import { areTurns, isInTranscript, isInTurns, replaceInTranscript, replaceInTurns } from './spoken-turns.js';

/** A stored document, read by the driver. */
export type StoredDocument = Record<string, unknown> & { _id: string };
export type StoredCollection = mongo.Collection<StoredDocument>;

/** The fields that are removed with the number that they contain. In every other one, a text replaces the number. */
const NUMBER_FIELDS: ReadonlySet<string> = new Set(['phoneNumber', 'transferTo']);
/** A name of a tool or of a parameter, which may have no hyphen. */
const IDENTIFIER = /^[A-Za-z_]\w*$/;
/** Documents change while they are read, so a change that does not apply is computed again. */
const MAX_ATTEMPTS = 5;
const PAGE = 100;

/** A number and the text that replaces it. */
export interface Replacement {
  pattern: NumberPattern;
  replacement: string;
  /** Fields with JSON in which 0 replaces a number, because the type of the value has a meaning. */
  typedFields?: readonly string[];
}

/** Whether a stored value contains the number, in a text, in JSON within a text, or in the name of a field. */
export function hasNumber(value: unknown, pattern: NumberPattern): boolean {
  if (typeof value === 'string') return isInText(value, pattern);
  if (Array.isArray(value)) {
    return value.some((item) => hasNumber(item, pattern)) || (areTurns(value) && isInTurns(value, pattern));
  }
  if (!isPlainObject(value)) return false;
  return Object.entries(value).some(([name, field]) => pattern.isIn(name) || hasNumber(field, pattern));
}

/** Yields the documents of a collection that contain the number. Reads all, in pages by id. */
export async function* documentsWith(
  collection: StoredCollection,
  pattern: NumberPattern,
): AsyncGenerator<StoredDocument> {
  for (let last = ''; ;) {
    const page = await collection
      .find({ _id: { $gt: last } })
      .sort({ _id: 1 })
      .limit(PAGE)
      .toArray();
    for (const document of page) if (hasNumber(document, pattern)) yield document;
    const end = page.at(-1);
    if (end === undefined || page.length < PAGE) return;
    last = end._id;
  }
}

/**
 * Removes the number from a document. Changes only fields that contain it, and only as they were read.
 * @returns whether the document contained the number
 * @throws Error when others change the document all the time
 */
export async function redactDocument(collection: StoredCollection, id: string, p: Replacement): Promise<boolean> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const document = await collection.findOne({ _id: id });
    if (document === null) return attempt > 0;
    const { _id, ...fields } = document;
    const changed = Object.entries(fields).filter(([, value]) => hasNumber(value, p.pattern));
    if (changed.length === 0) return attempt > 0;
    const after = changed.map(([name, value]) => [name, withoutNumber(name, value, p)] as const);
    const set = Object.fromEntries(after.filter(([, value]) => value !== undefined));
    const unset = Object.fromEntries(after.filter(([, value]) => value === undefined).map(([name]) => [name, '']));
    await collection.updateOne({ _id, ...Object.fromEntries(changed) } as object, {
      ...(isDeepStrictEqual(set, {}) ? {} : { $set: set }),
      ...(isDeepStrictEqual(unset, {}) ? {} : { $unset: unset as never }),
    });
  }
  throw new Error('A document changed too often while a phone number was erased from it.');
}

/** @returns the value without the number; undefined: the field must be removed */
function withoutNumber(name: string, value: unknown, p: Replacement): unknown {
  const { pattern } = p;
  if (typeof value === 'string') {
    if (NUMBER_FIELDS.has(name) && pattern.isWhole(value)) return undefined;
    return textWithout(value, p, p.typedFields?.includes(name) === true ? '0' : JSON.stringify(p.replacement));
  }
  if (Array.isArray(value)) {
    const others = value.filter((item) => typeof item !== 'string' || !pattern.isWhole(item));
    return withoutDivided(others, p).map((item) => withoutNumber('', item, p));
  }
  if (!isPlainObject(value)) return value;
  const fields = Object.entries(value)
    .filter(([field]) => !pattern.isIn(field))
    .map(([field, inner]) => [field, withoutNumber(field, inner, p)] as const);
  return Object.fromEntries(fields.filter(([, inner]) => inner !== undefined));
}

/** Removes a number that is divided between the turns of a conversation. */
function withoutDivided(items: readonly unknown[], { pattern, replacement }: Replacement): readonly unknown[] {
  if (!areTurns(items)) return items;
  const texts = replaceInTurns(items, pattern, replacement);
  return items.map((turn, index) => ({ ...turn, text: texts[index] }));
}

function isInText(text: string, pattern: NumberPattern): boolean {
  let isFound = false;
  const isJson = changeJson(text, {
    text(inner) {
      isFound ||= isInText(inner, pattern);
      return inner;
    },
    number(literal) {
      isFound ||= pattern.isValue(literal);
      return literal;
    },
  });
  return isJson === undefined ? pattern.isIn(text) || isInTranscript(text, pattern) : isFound;
}

/** @param jsonReplacement takes the place of a number of a JSON text */
function textWithout(text: string, p: Replacement, jsonReplacement: string): string {
  const changed = changeJson(text, {
    text: (inner) => textWithout(inner, p, jsonReplacement),
    number: (literal) => (p.pattern.isValue(literal) ? jsonReplacement : literal),
  });
  if (changed !== undefined) return changed;
  const whole = replaceInTranscript(text, p.pattern, p.replacement);
  return p.pattern.replaceIn(whole, IDENTIFIER.test(whole) ? p.replacement.replaceAll('-', '_') : p.replacement);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
