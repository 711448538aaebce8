import { z } from 'zod';
import { E164_PATTERN } from '../../../kernel/phone-number.js';
import { byteCount, characterCount } from '../../../kernel/text.js';
import { scanJson } from './json-scan.js';

/** Maximum characters of the text fields of a request. */
export const MAX_LENGTHS = {
  instruction: 32_768,
  parameters: 16_384,
  webhookUrl: 2_048,
  externalCallId: 255,
  search: 100,
} as const;

/** Maximum nesting depth of JSON in a request. */
export const MAX_JSON_DEPTH = 32;

/**
 * Maximum members of one list or object in a request, and of all together. Validation is slow for each member and
 * checks lengths only afterwards. No field takes more than 100 members, but a request may have unknown fields, too.
 */
export const MAX_JSON_MEMBERS = { ofOne: 256, ofAll: 4_096 } as const;

/** Lone surrogates and NUL. No real text contains them, and databases and carriers treat them differently. */
const UNUSABLE_CHARACTERS = /\p{Surrogate}|\0/u;

/** Text without NUL, for the OpenAPI document, in syntax that all regular expression dialects have. */
const USABLE_TEXT = '^[^\\x00]*$';
export const NOT_BLANK = '^[\\s\\uFEFF]*[^\\s\\uFEFF\\x00][^\\x00]*$';

/** Limits the length in characters, for validation and for the OpenAPI document. */
export function ofLength(schema: z.ZodString, { min = 0, max }: { min?: number; max: number }, fault: string) {
  return schema
    .refine((value) => {
      const length = characterCount(value);
      return length >= min && length <= max;
    }, fault)
    .meta({ ...(min > 0 ? { minLength: min } : {}), maxLength: max });
}

/** A text field whose error messages all name it. */
export function text(field: string, maxLength: number) {
  const string = z.string({
    error: (issue) => (issue.input === undefined ? `${field} is required.` : `${field} must be a string, given once.`),
  });
  return ofLength(string, { max: maxLength }, `${field} must have at most ${maxLength} characters.`)
    .refine(
      (value) => !UNUSABLE_CHARACTERS.test(value),
      `${field} must not contain control characters or invalid Unicode.`,
    )
    .meta({ pattern: USABLE_TEXT });
}

/** A text field that must not be blank. */
export function fullText(field: string, maxLength: number) {
  return text(field, maxLength)
    .refine((value) => value.trim() !== '', `${field} must not be empty.`)
    .meta({ pattern: NOT_BLANK });
}

/** A phone number to call. @param hint text appended to the error message for a wrong format */
export function toPhoneNumber(hint = '') {
  return z
    .string({
      error: (issue) =>
        issue.input === undefined ? 'to_phone_number is required.' : 'to_phone_number must be a string, given once.',
    })
    .regex(
      E164_PATTERN,
      `to_phone_number must be in E.164 format: a plus, a digit 1 to 9, then 1 to 14 more digits.${hint}`,
    )
    .meta({ description: 'Number to call, in E.164 format.', examples: ['+12025550100'] });
}

export const agentId = text('agent_id', 255).meta({
  description: 'Agent that conducts the call.',
  examples: ['agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'],
});

export const callId = z.string().meta({
  description:
    'Identifier of an existing call. If it is present, all other parameters are ignored, no call is placed, and the status of that call is returned.',
  examples: ['call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN'],
});

/** Pattern of an http or https URL. `urlFault` checks everything else. */
export const HTTP_URL = '^[hH][tT][tT][pP][sS]?://[^\\s]+$';

export const webhookUrl = text('webhook_url', MAX_LENGTHS.webhookUrl).meta({
  description: 'HTTP or HTTPS URL that receives the completion webhook, without a user name or password.',
  format: 'uri',
  pattern: HTTP_URL,
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
      'With a login session: the mode of the request, test by default. With an API key it must be the mode of the key.',
    examples: ['test'],
  });

type Scalar = string | number | boolean | null;

/**
 * A string that contains a JSON object, such as input_parameters and output_parameters. Its length in bytes is limited,
 * too, because an LLM reads it for every reply, and a rare character is up to four tokens.
 */
export function jsonObjectText(field: string, scalarsOnly: boolean) {
  const whole = `${field} must be a JSON object encoded as a string`;
  const kind = scalarsOnly ? `${whole} whose values are null, boolean, number or string` : whole;
  const string = z.string({
    error: (issue) =>
      typeof issue.input === 'object' ? `${kind}; an object was given: encode it as a string.` : `${kind}.`,
  });
  const max = MAX_LENGTHS.parameters;
  return ofLength(string, { max }, `${field} must have at most ${max} characters.`)
    .refine((value) => byteCount(value) <= max, `${field} must have at most ${max} bytes in UTF-8.`)
    .refine(
      (value) => !UNUSABLE_CHARACTERS.test(value),
      `${field} must not contain control characters or invalid Unicode.`,
    )
    .refine((value) => isJsonObject(value, scalarsOnly), `${kind}.`)
    .meta({
      format: 'json-object',
      contentMediaType: 'application/json',
      contentSchema: {
        type: 'object',
        ...(scalarsOnly ? { additionalProperties: { type: ['null', 'boolean', 'number', 'string'] } } : {}),
      },
    });
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
