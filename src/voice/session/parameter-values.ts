import type { ParameterValues } from '../engines/port.js';

/** The value of a key, undefined when there is none: customers name their keys, and may name one `constructor`. */
export function valueIn(values: ParameterValues, key: string): ParameterValues[string] | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}
