import { ServiceError } from '../kernel/errors.js';
import type { HttpTool } from './model.js';

/**
 * Of an instruction and the definitions of the tools together, in UTF-8: a model is sent all of it again and again in a call.
 * Bytes, because no text has more tokens than bytes, while a character of a rare script is up to four.
 */
const MAX_PROMPT_BYTES = 65_536;

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
      Buffer.byteLength(JSON.stringify({ name, description, parameters: '' })) + Buffer.byteLength(parameters),
  );
  const bytes = read.reduce((sum, length) => sum + length, Buffer.byteLength(instruction));
  if (bytes <= MAX_PROMPT_BYTES) return;
  const fault = `${field}: the instruction and the names, descriptions and parameters of the tools must have at most ${MAX_PROMPT_BYTES} bytes in UTF-8 together and have ${bytes}. Shorten them, or use fewer tools.`;
  throw new ServiceError('MISSING_PARAMS', fault, { fields: { [field]: fault } });
}
