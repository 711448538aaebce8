import { ServiceError } from '../kernel/errors.js';
import type { Pronunciation } from '../kernel/conversation/conversation-settings.js';
import type { HttpTool } from './model.js';
import {
  dataLines,
  fillParameters,
  filledInstruction,
  findingLines,
  fitsFilled,
  fitsListed,
  listParameters,
  MAX_FILLED_BYTES,
  MAX_LISTED_BYTES,
} from './prompt-values.js';

/**
 * Maximum size of an instruction plus its tool definitions, in bytes of UTF-8. The LLM receives both with every request
 * of a call. The limit counts bytes because a text never has more tokens than bytes, while a rare character can be up
 * to four tokens.
 */
const MAX_PROMPT_BYTES = 65_536;

type Prompted = Pick<HttpTool, 'name' | 'description' | 'parameters'>;

/** Other texts that the LLM reads: the first message is a part of the chat, pronunciations can be in the prompt. */
interface SpokenTexts {
  firstMessage?: string | null | undefined;
  pronunciations?: readonly Pronunciation[] | null | undefined;
}

/**
 * Rejects prompts that would cost the operator more per LLM request than the call pays for.
 * @param field the field of the request that must be shortened
 * @throws ServiceError MISSING_PARAMS
 */
export function assertPromptSize(
  field: 'instruction' | 'tools' | 'first_message' | 'pronunciations',
  { instruction, tools, ...spoken }: { instruction: string; tools: readonly Prompted[] } & SpokenTexts,
): void {
  const bytes = toolBytes(tools) + Buffer.byteLength(instruction) + spokenBytes(spoken);
  if (bytes <= MAX_PROMPT_BYTES) return;
  throw tooLong(
    field,
    `the instruction, the first message, the pronunciations, and the names, descriptions and parameters of all tools have ${bytes} bytes in UTF-8. They may have at most ${MAX_PROMPT_BYTES} together. Shorten them, or use fewer tools.`,
  );
}

/** Returns the bytes of the tools as sent to the LLM, where a number such as `9e20` becomes 900000000000000000000. */
function toolBytes(tools: readonly Prompted[]): number {
  const read = tools.map(({ name, description, parameters }) =>
    Buffer.byteLength(JSON.stringify({ name, description, parameters: JSON.parse(parameters) as unknown })),
  );
  return read.reduce((sum, length) => sum + length, 0);
}

function spokenBytes({ firstMessage, pronunciations }: SpokenTexts): number {
  const texts = (pronunciations ?? []).map(({ text, spoken }) => text + spoken);
  return Buffer.byteLength([firstMessage ?? '', ...texts].join(''));
}

/**
 * Returns the bytes in UTF-8 of what a customer adds to each LLM request of a call: the instruction with the values
 * inserted into it, the tools and the parameters.
 * @param p.inputParameters JSON, as given
 * @param p.outputParameters JSON, if given
 */
export function promptBytes(
  p: {
    instruction: string;
    tools?: readonly Prompted[] | undefined;
    inputParameters: string;
    outputParameters?: string | undefined;
  } & SpokenTexts,
): number {
  const values = JSON.parse(p.inputParameters) as Record<string, unknown>;
  const template = JSON.parse(p.outputParameters ?? '{}') as Record<string, string | number | boolean | null>;
  const lines = [
    filledInstruction(p.instruction, values),
    ...listParameters(dataLines(values)),
    ...listParameters(findingLines(template)),
  ];
  const spoken = { ...p, firstMessage: fillParameters(p.firstMessage ?? '', values) };
  return Buffer.byteLength(lines.join('\n')) + toolBytes(p.tools ?? []) + spokenBytes(spoken);
}

/**
 * Rejects the parameters of a call request that are too long when formatted for the LLM. Values that this check never
 * sees, such as those of agents older than the check, are truncated in the prompt instead.
 * @param p.instruction the instruction into which the parameters are inserted
 * @param p.isOwn whether the request contains the instruction
 * @param p.inputParameters JSON, as given
 * @param p.outputParameters JSON, if given
 * @throws ServiceError MISSING_PARAMS
 */
export function assertValuesSize(p: {
  instruction: string;
  isOwn: boolean;
  inputParameters?: string | undefined;
  outputParameters?: string | undefined;
}): void {
  const values = JSON.parse(p.inputParameters ?? '{}') as Record<string, unknown>;
  if (!fitsFilled(p.instruction, values)) {
    throw tooLong(
      p.isOwn && p.inputParameters === undefined ? 'instruction' : 'input_parameters',
      `the values inserted for all {{…}} of the instruction may have at most ${MAX_FILLED_BYTES} bytes in UTF-8 together. A {{name}} without a value counts as 15 bytes. Shorten the values, or insert them less often.`,
    );
  }
  if (!fitsListed(dataLines(values))) throw tooMany('input_parameters');
  assertTemplateSize(p.outputParameters);
}

/**
 * Rejects output parameters that are too long when formatted for the LLM.
 * @throws ServiceError MISSING_PARAMS
 */
export function assertTemplateSize(outputParameters = '{}'): void {
  const template = JSON.parse(outputParameters) as Record<string, string | number | boolean | null>;
  if (!fitsListed(findingLines(template))) throw tooMany('output_parameters');
}

function tooMany(field: 'input_parameters' | 'output_parameters'): ServiceError {
  return tooLong(
    field,
    `the agent gets one line of text for each key. All lines together may have at most ${MAX_LISTED_BYTES} bytes in UTF-8. Use fewer or shorter keys and values.`,
  );
}

function tooLong(field: string, fault: string): ServiceError {
  const message = `${field}: ${fault}`;
  return new ServiceError('MISSING_PARAMS', message, { fields: { [field]: message } });
}
