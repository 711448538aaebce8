import type { ParameterValues } from '../engines/port.js';

type Value = ParameterValues[string];
type JsonSchema = Record<string, unknown>;

const MAX_VALUE_CHARACTERS = 1_000;

/**
 * Returns the choices of a template key, or undefined if the key has no list of choices. The default of a key defines
 * the type of its value: a boolean or a number requires the same type, null accepts every type, and a text with bars
 * (`small|medium|large`) lists the choices. Other text means free text.
 */
function choicesOf(byDefault: Value): string[] | undefined {
  if (typeof byDefault !== 'string' || !byDefault.includes('|')) return undefined;
  const choices = byDefault.split('|').map((choice) => choice.trim());
  return choices.every((choice) => choice !== '') ? choices : undefined;
}

/**
 * The strict JSON Schema of a conversation's conclusion: a summary, and a value or null for each template key. The
 * schema numbers the keys, because customers' keys can have any form. `validateValues` restores the keys.
 */
export function conclusionSchema(template: ParameterValues): JsonSchema {
  const values = Object.entries(template).map(([key, byDefault], index) => {
    return [fieldName(index), { ...kindOf(byDefault), description: key }] as const;
  });
  return objectOf([
    ['summary', { type: 'string', description: 'The course and the outcome of the call, in one to three sentences.' }],
    ...(values.length === 0 ? [] : [['values', objectOf(values)] as const]),
  ]);
}

function objectOf(properties: readonly (readonly [string, JsonSchema])[]): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: properties.map(([name]) => name),
    additionalProperties: false,
  };
}

function kindOf(byDefault: Value): JsonSchema {
  const choices = choicesOf(byDefault);
  if (choices !== undefined) return { type: ['string', 'null'], enum: [...choices, null] };
  if (typeof byDefault === 'boolean') return { type: ['boolean', 'null'] };
  if (typeof byDefault === 'number') return { type: ['number', 'null'] };
  if (typeof byDefault === 'string') return { type: ['string', 'null'] };
  return { type: ['string', 'number', 'boolean', 'null'] };
}

/** The schema's name for a key, by its position in the template. */
function fieldName(index: number): string {
  return `value_${index + 1}`;
}

/**
 * Validates extracted values against the template. Returns exactly the template's keys, each with a value of the right
 * type or null. A value of another type becomes null and is never converted, because the caller did not say it.
 * @param extracted the model's output, by the names of `conclusionSchema`
 */
export function validateValues(template: ParameterValues, extracted: unknown): ParameterValues {
  const given = isObject(extracted) ? extracted : {};
  const entries = Object.entries(template).map(([key, byDefault], index) => {
    const name = fieldName(index);
    return [key, fitting(byDefault, Object.hasOwn(given, name) ? given[name] : null)] as const;
  });
  return Object.fromEntries(entries);
}

/** Returns the value if it has the type of the default, else null. */
function fitting(byDefault: Value, value: unknown): Value {
  if (typeof value === 'string') return fittingText(byDefault, value.trim());
  if (typeof value === 'number') {
    return Number.isFinite(value) && (byDefault === null || typeof byDefault === 'number') ? value : null;
  }
  if (typeof value === 'boolean') return byDefault === null || typeof byDefault === 'boolean' ? value : null;
  return null;
}

function fittingText(byDefault: Value, text: string): Value {
  if (text === '' || text.length > MAX_VALUE_CHARACTERS) return null;
  if (byDefault !== null && typeof byDefault !== 'string') return null;
  const choices = choicesOf(byDefault);
  if (choices === undefined) return text;
  return choices.find((choice) => choice.toLowerCase() === text.toLowerCase()) ?? null;
}

/** Returns null for every key of the template. */
export function emptyValues(template: ParameterValues): ParameterValues {
  return Object.fromEntries(Object.keys(template).map((key) => [key, null]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
