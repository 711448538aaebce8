import { ServiceError } from '../kernel/errors.js';
import type { HttpTool } from './model.js';
import {
  dataLines,
  findingLines,
  fitsFilled,
  fitsListed,
  MAX_FILLED_BYTES,
  MAX_LISTED_BYTES,
} from './prompt-values.js';

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
  // As it is sent: `9e20` becomes 900000000000000000000.
  const read = tools.map(({ name, description, parameters }) =>
    Buffer.byteLength(JSON.stringify({ name, description, parameters: JSON.parse(parameters) as unknown })),
  );
  const bytes = read.reduce((sum, length) => sum + length, Buffer.byteLength(instruction));
  if (bytes <= MAX_PROMPT_BYTES) return;
  throw tooLong(
    field,
    `the instruction and the names, descriptions and parameters of the tools must have at most ${MAX_PROMPT_BYTES} bytes in UTF-8 together and have ${bytes}. Shorten them, or use fewer tools.`,
  );
}

/**
 * Refuses parameters that become long by being written out for a model. What comes of an earlier agent, or of a call
 * whose parameters are not known at the request, is cut off in the prompt instead.
 * @param p.instruction the instruction that the parameters are filled into
 * @param p.isOwn whether the request brings the instruction
 * @param p.inputParameters JSON, as given
 * @param p.outputParameters JSON, when given
 * @throws ServiceError MISSING_PARAMS
 */
export function refuseLongValues(p: {
  instruction: string;
  isOwn: boolean;
  inputParameters?: string | undefined;
  outputParameters?: string | undefined;
}): void {
  const values = JSON.parse(p.inputParameters ?? '{}') as Record<string, unknown>;
  if (!fitsFilled(p.instruction, values)) {
    throw tooLong(
      p.isOwn && p.inputParameters === undefined ? 'instruction' : 'input_parameters',
      `the values that the instruction names by {{…}} must have at most ${MAX_FILLED_BYTES} bytes in UTF-8 together as the agent reads them; a name without a value counts 15. Shorten them, or name them less often.`,
    );
  }
  if (!fitsListed(dataLines(values))) throw tooMany('input_parameters');
  refuseLongTemplate(p.outputParameters);
}

/** @throws ServiceError MISSING_PARAMS */
export function refuseLongTemplate(outputParameters = '{}'): void {
  const template = JSON.parse(outputParameters) as Record<string, string | number | boolean | null>;
  if (!fitsListed(findingLines(template))) throw tooMany('output_parameters');
}

function tooMany(field: 'input_parameters' | 'output_parameters'): ServiceError {
  return tooLong(
    field,
    `written out for the agent, a line for each key, they must have at most ${MAX_LISTED_BYTES} bytes in UTF-8. Use fewer keys.`,
  );
}

function tooLong(field: string, fault: string): ServiceError {
  const message = `${field}: ${fault}`;
  return new ServiceError('MISSING_PARAMS', message, { fields: { [field]: message } });
}
