import { z } from 'zod';
import { E164_PATTERN } from '../domain/phone-number.js';
import { scanJson } from './json-scan.js';

/** The most characters the text fields of a request take. */
export const MAX_LENGTHS = {
  instruction: 32_768,
  parameters: 16_384,
  webhookUrl: 2_048,
  externalCallId: 255,
} as const;

/** Nesting that JSON of a request may have. */
export const MAX_JSON_DEPTH = 32;

/** Half a surrogate pair, or a NUL: no text that people write has them, and stores and carriers disagree on them. */
const UNUSABLE_CHARACTERS = /\p{Surrogate}|\0/u;

/** A text field whose every fault is told by its name. */
export function text(field: string, maxLength: number) {
  return z
    .string({
      error: (issue) =>
        issue.input === undefined ? `${field} is required.` : `${field} must be a string, given once.`,
    })
    .max(maxLength, `${field} must have at most ${maxLength} characters.`)
    .refine((value) => !UNUSABLE_CHARACTERS.test(value), `${field} holds characters that are not text.`);
}

/** @param hint what is said in addition when the form is wrong */
export function toPhoneNumber(hint = '') {
  return z
    .string({
      error: (issue) =>
        issue.input === undefined ? 'to_phone_number is required.' : 'to_phone_number must be a string, given once.',
    })
    .regex(
      E164_PATTERN,
      `to_phone_number must be in E.164 form: a plus, a digit 1 to 9, then 1 to 14 more digits.${hint}`,
    )
    .meta({ description: 'Number to call, in E.164 form.', examples: ['+12025550100'] });
}

export const agentId = text('agent_id', 255).meta({
  description: 'Agent that conducts the call.',
  examples: ['agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'],
});

export const callId = z.string().meta({
  description:
    'Identifier of an existing call. When it is present, all else in the request is ignored, no call is made and the status of that call is returned.',
  examples: ['call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'],
});

export const webhookUrl = text('webhook_url', MAX_LENGTHS.webhookUrl).meta({
  description: 'HTTP or HTTPS URL that receives the completion webhook.',
  format: 'uri',
  examples: ['https://example.com/call-completed'],
});

export const externalCallId = text('external_call_id', MAX_LENGTHS.externalCallId).meta({
  description: 'Your own tracking identifier, echoed in the completion webhook.',
  examples: ['order-4711'],
});

export const modeParameter = z
  .enum(['live', 'test'], 'mode must be live or test, given once.')
  .optional()
  .meta({
    description:
      'With a session: which mode is asked about, test unless said otherwise. With an API key it is the key’s mode, and another one is refused.',
    examples: ['test'],
  });

type Scalar = string | number | boolean | null;

/** A string that holds a JSON object, as input_parameters and output_parameters are. */
export function jsonObjectText(field: string, scalarsOnly: boolean) {
  const whole = `${field} must be a string holding a JSON object`;
  const kind = scalarsOnly ? `${whole} whose values are null, boolean, number or string` : whole;
  return z
    .string({
      error: (issue) =>
        typeof issue.input === 'object' ? `${kind}; an object was given, encode it as a string.` : `${kind}.`,
    })
    .max(MAX_LENGTHS.parameters, `${field} must have at most ${MAX_LENGTHS.parameters} characters.`)
    .refine((value) => !UNUSABLE_CHARACTERS.test(value), `${field} holds characters that are not text.`)
    .refine((value) => isJsonObject(value, scalarsOnly), `${kind}.`);
}

function isJsonObject(value: string, scalarsOnly: boolean): boolean {
  if (scanJson(value).depth > MAX_JSON_DEPTH) return false;
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch {
    return false;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return false;
  if (Object.hasOwn(parsed, '__proto__')) return false;
  return !scalarsOnly || Object.values(parsed).every(isScalar);
}

function isScalar(value: unknown): value is Scalar {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}
