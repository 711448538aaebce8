import { MAX_JSON_DEPTH } from '../platform/http/contract/fields.js';
import { scanJson } from '../platform/http/contract/json-scan.js';

/**
 * Allowed JSON Schema keywords. Models and validators interpret them alike, and validating arguments against them is
 * cheap.
 */
const KEYWORDS = new Set([
  '$comment',
  '$schema',
  'additionalProperties',
  'anyOf',
  'const',
  'default',
  'description',
  'enum',
  'examples',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'items',
  'maxItems',
  'maxLength',
  'maximum',
  'minItems',
  'minLength',
  'minimum',
  'multipleOf',
  'oneOf',
  'properties',
  'required',
  'title',
  'type',
]);

/** Keywords not allowed beside the top-level `type`: model providers reject any request that contains such a tool. */
const NOT_AT_THE_TOP = ['allOf', 'anyOf', 'enum', 'not', 'oneOf'];

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];
/** Required type of each keyword's value. Model providers reject any request that contains a tool with another type. */
const VALUES: Record<string, 'string' | 'number'> = {
  $comment: 'string',
  $schema: 'string',
  description: 'string',
  exclusiveMaximum: 'number',
  exclusiveMinimum: 'number',
  maxItems: 'number',
  maxLength: 'number',
  maximum: 'number',
  minItems: 'number',
  minLength: 'number',
  minimum: 'number',
  multipleOf: 'number',
  title: 'string',
};
/** Keywords whose value must be a whole number that is not negative. */
const SIZES = ['maxItems', 'maxLength', 'minItems', 'minLength'];
/** Keywords whose list must not be empty. */
const CHOICES = ['anyOf', 'enum', 'oneOf'];
const MAX_DEPTH = 8;
/** Limits the number of schemas, because each value may be validated against every one of them. */
const MAX_SUBSCHEMAS = 200;
/** Limits the entries of all lists together, because each value may be compared with every one of them. */
const MAX_LISTED = 1_000;

type Fault = string | undefined;

/**
 * Returns an error message for an invalid JSON Schema of a tool's arguments, or undefined if it is valid. The schema
 * must describe an object. References and patterns are invalid, because validation with them may take exponential time
 * or never end.
 */
export function toolSchemaFault(text: string): Fault {
  // Also values such as `default` must not be deeper. Otherwise providers fail with an error of the server.
  if (scanJson(text).depth > MAX_JSON_DEPTH) return `must not be nested deeper than ${MAX_JSON_DEPTH} levels of JSON`;
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch {
    return 'must be a JSON Schema encoded as a string';
  }
  if (!isObject(schema) || schema['type'] !== 'object') return 'must be a JSON Schema of type object';
  const misplaced = NOT_AT_THE_TOP.find((keyword) => keyword in schema);
  if (misplaced !== undefined) return `must not contain ${misplaced} at the top level; move it into a property`;
  if (countOf(schema) > MAX_SUBSCHEMAS) return `must contain at most ${MAX_SUBSCHEMAS} schemas`;
  if (listedIn(schema) > MAX_LISTED) return `must contain at most ${MAX_LISTED} entries in its lists`;
  return schemaFault(schema, 1);
}

/**
 * Makes all objects of a schema reject undeclared properties, unless the schema sets `additionalProperties`. Properties
 * declared in alternatives (anyOf, oneOf) count as declared in the enclosing object.
 */
export function closedToolSchema(schema: Record<string, unknown>): Record<string, unknown> {
  return closed(schema, true) as Record<string, unknown>;
}

/**
 * Returns the schema in the form that is sent to the LLM: every object in it has `properties`, if only empty. OpenAI
 * rejects a request with an object that lacks them ("object schema missing properties").
 */
export function offeredToolSchema(schema: Record<string, unknown>): Record<string, unknown> {
  return withProperties(schema) as Record<string, unknown>;
}

function withProperties(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const { type, properties, items, additionalProperties, anyOf, oneOf } = schema;
  const isOfObjects = type === 'object' || (Array.isArray(type) && type.includes('object'));
  const declared = isObject(properties)
    ? Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, withProperties(each)]))
    : isOfObjects
      ? {}
      : undefined;
  const list = (each: unknown) => (Array.isArray(each) ? each.map(withProperties) : undefined);
  const changes = {
    properties: declared,
    items: withProperties(items),
    additionalProperties: withProperties(additionalProperties),
    anyOf: list(anyOf),
    oneOf: list(oneOf),
  };
  return { ...schema, ...Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) };
}

function closed(schema: unknown, isWhole: boolean): unknown {
  if (!isObject(schema)) return schema;
  const { properties, items, additionalProperties, anyOf, oneOf } = schema;
  const part = (name: string, value: unknown) => (value === undefined ? {} : { [name]: value });
  const whole = (value: unknown) => closed(value, true);
  const alternatives = (list: unknown) =>
    Array.isArray(list) ? list.map((each: unknown) => closed(each, false)) : undefined;
  const declared = isObject(properties)
    ? Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, whole(each)]))
    : undefined;
  return {
    ...schema,
    ...part('properties', declared),
    ...part('items', whole(items)),
    ...part('additionalProperties', whole(additionalProperties)),
    ...part('anyOf', alternatives(anyOf)),
    ...part('oneOf', alternatives(oneOf)),
    // `const` and `enum` list complete values, so undeclared properties are impossible.
    ...(isWhole && !('const' in schema) && !('enum' in schema) ? { unevaluatedProperties: false } : {}),
  };
}

function schemaFault(schema: unknown, depth: number): Fault {
  if (typeof schema === 'boolean') return undefined;
  if (!isObject(schema)) return 'contains a schema that is not an object';
  if (depth > MAX_DEPTH) return `must nest at most ${MAX_DEPTH} schemas`;
  const unknown = Object.keys(schema).find((keyword) => !KEYWORDS.has(keyword));
  if (unknown !== undefined) return `contains the keyword ${unknown.slice(0, 64)}, which is not supported`;
  return ownFault(schema) ?? firstFault(subschemas(schema), (each) => schemaFault(each, depth + 1));
}

/** Counts a schema and all schemas nested in it, down to the maximum depth. Stops above the maximum number. */
function countOf(schema: unknown, depth = 1, before = 0): number {
  let count = before + 1;
  if (!isObject(schema) || depth > MAX_DEPTH) return count;
  for (const each of subschemas(schema)) {
    if (count > MAX_SUBSCHEMAS) break;
    count = countOf(each, depth + 1, count);
  }
  return count;
}

/** Counts the entries of all lists in a schema, such as those of `required` and `enum`. */
function listedIn(schema: object): number {
  const open: unknown[] = [schema];
  let count = 0;
  while (open.length > 0 && count <= MAX_LISTED) {
    const each = open.pop();
    if (typeof each !== 'object' || each === null) continue;
    if (Array.isArray(each)) count += each.length;
    open.push(...Object.values(each));
  }
  return count;
}

function ownFault(schema: Record<string, unknown>): Fault {
  const { type, required, properties, anyOf, oneOf } = schema;
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
  if (!types.every((name) => typeof name === 'string' && TYPES.includes(name))) return 'contains an unknown type';
  if (types.includes('array') && schema['items'] === undefined) {
    return 'contains an array without items; add items, a schema of its elements';
  }
  if (required !== undefined && !isListOf(required, 'string')) return 'required must be a list of names';
  if (properties !== undefined && !isObject(properties)) return 'properties must be an object';
  const lists = ['enum', 'examples'].find(
    (keyword) => schema[keyword] !== undefined && !Array.isArray(schema[keyword]),
  );
  if (lists !== undefined) return `${lists} must be a list`;
  const wrong = Object.entries(VALUES).find(([keyword, kind]) => keyword in schema && typeof schema[keyword] !== kind);
  if (wrong !== undefined) return `${wrong[0]} must be a ${wrong[1]}`;
  if (![anyOf, oneOf].every((list) => list === undefined || Array.isArray(list)))
    return 'anyOf and oneOf must be lists';
  return valueFault(schema);
}

/** Finds values of the right type that JSON Schema does not allow. */
function valueFault(schema: Record<string, unknown>): Fault {
  const { multipleOf } = schema;
  const sizes = SIZES.find((keyword) => keyword in schema && !isSize(schema[keyword]));
  if (sizes !== undefined) return `${sizes} must be a whole number of at least 0`;
  if (typeof multipleOf === 'number' && multipleOf <= 0) return 'multipleOf must be above 0';
  const empty = CHOICES.find((keyword) => isEmptyList(schema[keyword]));
  if (empty !== undefined) return `${empty} must not be empty`;
  if (isEmptyList(schema['type'])) return 'type must not be an empty list';
  const repeated = ['type', 'required'].find((keyword) => hasRepeats(schema[keyword]));
  return repeated === undefined ? undefined : `${repeated} must not name anything twice`;
}

function isSize(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function hasRepeats(value: unknown): boolean {
  return Array.isArray(value) && new Set(value).size < value.length;
}

function subschemas({ properties, items, additionalProperties, anyOf, oneOf }: Record<string, unknown>): unknown[] {
  const single = [items, additionalProperties].filter((each) => each !== undefined);
  const lists = [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  return [...single, ...lists, ...(isObject(properties) ? Object.values(properties) : [])];
}

function firstFault<T>(values: readonly T[], faultOf: (value: T) => Fault): Fault {
  for (const value of values) {
    const fault = faultOf(value);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function isListOf(value: unknown, type: 'string'): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === type);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
