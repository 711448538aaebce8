/** Supported keywords: models and validators interpret them alike, and the size of the arguments bounds their cost. */
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

/** Keywords that model providers reject next to the top-level `type`, together with the whole request. */
const NOT_AT_THE_TOP = ['allOf', 'anyOf', 'enum', 'not', 'oneOf'];

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];
/** What the value of a keyword must be: providers reject anything else, and with it the whole request. */
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
const MAX_DEPTH = 8;
/** Limits the number of schemas, because each value may be validated against every one of them. */
const MAX_SUBSCHEMAS = 200;

type Fault = string | undefined;

/**
 * Returns what is wrong with the JSON Schema of a tool's arguments, or undefined. It must describe an object.
 * References and patterns are rejected, because validating them may not terminate or take exponential time.
 */
export function toolSchemaFault(text: string): Fault {
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch {
    return 'must be a string holding a JSON Schema';
  }
  if (!isObject(schema) || schema['type'] !== 'object') return 'must be a JSON Schema of type object';
  const misplaced = NOT_AT_THE_TOP.find((keyword) => keyword in schema);
  if (misplaced !== undefined) return `must not hold ${misplaced} at the top level; move it into a property`;
  if (sizeOf(schema, 1) > MAX_SUBSCHEMAS) return `must hold at most ${MAX_SUBSCHEMAS} schemas`;
  return schemaFault(schema, 1);
}

/**
 * Closes every object of a schema: undeclared properties are invalid unless `additionalProperties` is set. Properties
 * declared in alternatives (anyOf, oneOf) count for the enclosing object.
 */
export function closedToolSchema(schema: Record<string, unknown>): Record<string, unknown> {
  return closed(schema, true) as Record<string, unknown>;
}

/**
 * The schema as it is offered to a model: every object in it has `properties`. OpenAI rejects a request that offers an
 * object without them ("object schema missing properties").
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
    // `const` and `enum` list complete values, so there is nothing to close.
    ...(isWhole && !('const' in schema) && !('enum' in schema) ? { unevaluatedProperties: false } : {}),
  };
}

function schemaFault(schema: unknown, depth: number): Fault {
  if (typeof schema === 'boolean') return undefined;
  if (!isObject(schema)) return 'holds a schema that is no object';
  if (depth > MAX_DEPTH) return `must nest at most ${MAX_DEPTH} schemas`;
  const unknown = Object.keys(schema).find((keyword) => !KEYWORDS.has(keyword));
  if (unknown !== undefined) return `holds the keyword ${unknown.slice(0, 64)}, which is not supported`;
  return ownFault(schema) ?? firstFault(subschemas(schema), (each) => schemaFault(each, depth + 1));
}

/** Counts the schemas in a schema, including itself, down to the maximum depth. */
function sizeOf(schema: unknown, depth: number): number {
  if (!isObject(schema) || depth > MAX_DEPTH) return 1;
  return subschemas(schema).reduce<number>((sum, each) => sum + sizeOf(each, depth + 1), 1);
}

function ownFault(schema: Record<string, unknown>): Fault {
  const { type, required, properties, anyOf, oneOf } = schema;
  const types = Array.isArray(type) ? type : type === undefined ? [] : [type];
  if (!types.every((name) => typeof name === 'string' && TYPES.includes(name))) return 'holds an unknown type';
  if (types.includes('array') && schema['items'] === undefined) {
    return 'holds an array without items; add items, a schema of its elements';
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
  return undefined;
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
