import type { ParameterValues } from '../engines/port.js';

/** The value of an own key, else undefined: a customer's key may be called `constructor`. */
export function valueIn(values: ParameterValues, key: string): ParameterValues[string] | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}
