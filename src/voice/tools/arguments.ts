import { Validator } from '@cfworker/json-schema';
import { closedToolSchema } from '../../agents/tool-schema.js';
import type { ToolDefinition } from '../engines/port.js';

const MAX_ARGUMENT_CHARACTERS = 16_384;
/** Lists, objects and what they hold: checking them takes so many times the schemas of the tool. */
const MAX_ARGUMENT_VALUES = 1_000;
const MOST_FAULTS = 3;
const MAX_FAULT_CHARACTERS = 200;

/**
 * What is wrong with a tool's arguments, in words for the model that gave them, or undefined. Arguments that the schema
 * does not declare are refused unless it sets `additionalProperties`. The validator interprets
 * the schema: a customer's text is never made into code.
 */
export function argumentFault(definition: ToolDefinition, given: Record<string, unknown>): string | undefined {
  const json = JSON.stringify(given);
  if (json === undefined || json.length > MAX_ARGUMENT_CHARACTERS) return 'the arguments are too long';
  if (!holdsAtMost(given, MAX_ARGUMENT_VALUES)) return 'the arguments are too many';
  const schema = closedToolSchema(definition.parameters);
  const { valid, errors } = new Validator(schema, '2020-12', false).validate(JSON.parse(json));
  if (valid) return undefined;
  // The first of them only repeat that something deeper is wrong.
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
