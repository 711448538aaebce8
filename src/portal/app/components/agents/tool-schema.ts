/** A tool's argument in the form that the list editor uses. */
export interface ToolParameter {
  name: string;
  type: 'string' | 'number' | 'integer' | 'boolean';
  description: string;
  required: boolean;
}

export const PARAMETER_TYPES: readonly { value: ToolParameter['type']; label: string }[] = [
  { value: 'string', label: 'Text' },
  { value: 'number', label: 'Number' },
  { value: 'integer', label: 'Whole number' },
  { value: 'boolean', label: 'Yes or no' },
];

type Json = Record<string, unknown>;

/** Converts a JSON Schema to a list of arguments; undefined if the list editor cannot represent the schema. */
export function parametersFromSchema(schema: string): ToolParameter[] | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(schema);
  } catch {
    return undefined;
  }
  if (!isObject(parsed) || parsed['type'] !== 'object') return undefined;
  const { type: _object, properties = {}, required = [], additionalProperties, ...others } = parsed;
  if (Object.keys(others).length > 0 || ![undefined, true, false].includes(additionalProperties as boolean)) {
    return undefined;
  }
  if (!isObject(properties) || !Array.isArray(required)) return undefined;
  if (!required.every((name) => Object.hasOwn(properties, String(name)))) return undefined;
  const parameters = Object.entries(properties).map(([name, property]) => parameterOf(name, property, required));
  return parameters.every((parameter) => parameter !== undefined) ? parameters : undefined;
}

function parameterOf(name: string, property: unknown, required: readonly unknown[]): ToolParameter | undefined {
  if (!isObject(property)) return undefined;
  const { type, description = '', ...others } = property;
  const known = PARAMETER_TYPES.find(({ value }) => value === type);
  if (known === undefined || typeof description !== 'string' || Object.keys(others).length > 0) return undefined;
  return { name, type: known.value, description, required: required.includes(name) };
}

/**
 * Converts a list of arguments to a JSON Schema. Leaves out rows that have no name.
 * @param before the previous schema, whose `additionalProperties` is kept
 */
export function schemaOf(parameters: readonly ToolParameter[], before: string): string {
  const named = parameters.filter(({ name }) => name.trim() !== '');
  const properties = named.map(({ name, type, description }) => [
    name.trim(),
    { type, ...(description.trim() === '' ? {} : { description: description.trim() }) },
  ]);
  const required = named.filter((parameter) => parameter.required).map(({ name }) => name.trim());
  const { additionalProperties } = JSON.parse(before) as Json;
  return JSON.stringify({
    type: 'object',
    properties: Object.fromEntries(properties) as Json,
    ...(required.length > 0 ? { required } : {}),
    ...(additionalProperties === undefined ? {} : { additionalProperties }),
  });
}

/** Indents JSON. Returns any other text unchanged. */
export function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
