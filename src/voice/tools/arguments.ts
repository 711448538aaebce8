import { Validator } from '@cfworker/json-schema';
import { closedToolSchema } from '../../agents/tool-schema.js';
import type { ToolDefinition } from '../engines/port.js';

const MAX_ARGUMENT_CHARACTERS = 16_384;
/** Maximum number of values, nested ones included: validation costs up to this times the schema's size. */
const MAX_ARGUMENT_VALUES = 1_000;
const MOST_FAULTS = 3;
const MAX_FAULT_CHARACTERS = 200;

/**
 * Validates a tool call's arguments; returns what is wrong, phrased for the model, or undefined if they are valid.
 * Rejects arguments that the schema does not declare, unless it sets `additionalProperties`. The validator interprets
 * the schema and generates no code from customer input.
 */
export function argumentFault(definition: ToolDefinition, given: Record<string, unknown>): string | undefined {
  const json = JSON.stringify(given);
  if (json === undefined || json.length > MAX_ARGUMENT_CHARACTERS) return 'the arguments are too long';
  if (!holdsAtMost(given, MAX_ARGUMENT_VALUES)) return 'the arguments are too many';
  const schema = closedToolSchema(definition.parameters);
  const { valid, errors } = new Validator(schema, '2020-12', false).validate(JSON.parse(json));
  if (valid) return undefined;
  // The first errors only repeat that something nested is wrong.
  const faults = errors.slice(-MOST_FAULTS).map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
  return `the arguments do not fit: ${faults.join('; ').slice(0, MAX_FAULT_CHARACTERS)}`;
}

function holdsAtMost(value: unknown, most: number): boolean {
  const open: unknown[] = [value];
  for (let count = 0; open.length > 0; count++) {
    if (count > most) return false;
    const each = open.pop();
    if (typeof each === 'object' && each !== null) open.push(...Object.values(each));
  }
  return true;
}
