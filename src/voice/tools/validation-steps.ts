/** How many times longer than another step it takes to check a multiple, which is computed with large integers. */
const MULTIPLE_STEPS = 10;

/**
 * Subtracts the steps that validating a value against a schema of a tool takes: one for each schema that a value is
 * compared with, and one for each entry of its lists (`enum`, `required`), which are read for each value.
 * @returns the steps left; a negative number, at once, if there are not enough
 */
export function stepsLeft(schema: unknown, value: unknown, left: number): number {
  if (left < 0 || !isObject(schema)) return left - 1;
  const { properties, items, additionalProperties, anyOf, oneOf, required, multipleOf } = schema;
  const named = isObject(properties) ? properties : {};
  const own = listOf(required).length + Object.keys(named).length + (multipleOf === undefined ? 1 : MULTIPLE_STEPS);
  let rest = countDown(schema['const'], countDown(schema['enum'], left - own));
  for (const each of [...listOf(anyOf), ...listOf(oneOf)]) rest = stepsLeft(each, value, rest);
  if (Array.isArray(value)) {
    for (const each of value) rest = stepsLeft(items, each, rest);
  } else if (isObject(value)) {
    for (const [name, each] of Object.entries(value)) {
      rest = stepsLeft(Object.hasOwn(named, name) ? named[name] : additionalProperties, each, rest);
    }
  }
  return rest;
}

/** Subtracts the number of all values in a value, including nested ones. */
function countDown(value: unknown, left: number): number {
  if (value === undefined || left < 0) return left;
  const nested = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return nested.reduce((rest: number, each) => countDown(each, rest), left - 1);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
