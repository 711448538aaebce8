import { Validator } from '@cfworker/json-schema';
import { closedToolSchema } from '../../agents/tool-schema.js';
import type { ToolDefinition } from '../engines/port.js';
import type { RefillingBudget } from './refilling-budget.js';
import { stepsLeft } from './validation-steps.js';

const MAX_ARGUMENT_CHARACTERS = 16_384;
/** Maximum number of values, including nested ones. */
const MAX_ARGUMENT_VALUES = 1_000;
/** Maximum steps of one validation, which blocks all other calls of the process: about 20 ms. */
const MAX_VALIDATION_STEPS = 20_000;
/** Steps of a validation that takes less than a millisecond. Those of ordinary tool calls take less than 100. */
const FEW_STEPS = 1_000;
/** To count steps takes less time than to make them. */
const COUNTED_PER_STEP = 8;
const MOST_FAULTS = 3;
const MAX_FAULT_CHARACTERS = 200;

/** Whether it takes so little time to validate a tool call's arguments that others need not wait for it in turn. */
export function isQuickToValidate({ parameters }: ToolDefinition, given: Record<string, unknown>): boolean {
  return stepsLeft(closedToolSchema(parameters), given, FEW_STEPS) >= 0;
}

/**
 * Validates a tool call's arguments. Returns an error message for the model, or undefined if the arguments are valid.
 * Rejects arguments that the schema does not declare, unless the schema sets `additionalProperties`. The validator
 * interprets the schema and generates no code from customer input.
 * @param budget the steps that validations may take; this one is charged to it
 */
export function argumentFault(
  definition: ToolDefinition,
  given: Record<string, unknown>,
  budget: RefillingBudget,
): string | undefined {
  const json = JSON.stringify(given);
  if (json === undefined || json.length > MAX_ARGUMENT_CHARACTERS) return 'the arguments are too long';
  if (!holdsAtMost(given, MAX_ARGUMENT_VALUES)) return 'the arguments contain too many values';
  const schema = closedToolSchema(definition.parameters);
  const most = Math.min(MAX_VALIDATION_STEPS, budget.left());
  const left = stepsLeft(schema, given, most);
  budget.takes(left < 0 ? most / COUNTED_PER_STEP : most - left);
  if (left < 0)
    return most < MAX_VALIDATION_STEPS
      ? 'the arguments of the last tool calls had too many values; use fewer, or try again in ten seconds'
      : 'the arguments contain too many values for their schema';
  // Stop at the first fault, because thousands of them take much time and memory.
  const { valid, errors } = new Validator(schema, '2020-12', true).validate(JSON.parse(json));
  if (valid) return undefined;
  // Report the last errors, because the first ones only say that something nested is wrong.
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
