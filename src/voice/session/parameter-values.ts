import type { ParameterValues } from '../engines/port.js';

/** The value of a key, or undefined. Ignores inherited properties, because a key may be called `constructor`. */
export function valueIn(values: ParameterValues, key: string): ParameterValues[string] | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}
