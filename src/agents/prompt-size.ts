import { ServiceError } from '../kernel/errors.js';
import { characterCount } from '../kernel/text.js';
import type { HttpTool } from './model.js';

/** Of an instruction and the definitions of the tools together: a model is sent all of it again and again in a call. */
const MAX_PROMPT_CHARACTERS = 65_536;

type Prompted = Pick<HttpTool, 'name' | 'description' | 'parameters'>;

/**
 * Refuses what costs the operator more at every reply than a call pays for.
 * @param field what was given, and is to be shortened
 * @throws ServiceError MISSING_PARAMS
 */
export function refuseLongPrompt(
  field: 'instruction' | 'tools',
  { instruction, tools }: { instruction: string; tools: readonly Prompted[] },
): void {
  const read = tools.map(
    ({ name, description, parameters }) =>
      JSON.stringify({ name, description, parameters: '' }).length + parameters.length,
  );
  const characters = read.reduce((sum, length) => sum + length, characterCount(instruction));
  if (characters <= MAX_PROMPT_CHARACTERS) return;
  const fault = `${field}: the instruction and the names, descriptions and parameters of the tools must have at most ${MAX_PROMPT_CHARACTERS} characters together and have ${characters}. Shorten them, or use fewer tools.`;
  throw new ServiceError('MISSING_PARAMS', fault, { fields: { [field]: fault } });
}
