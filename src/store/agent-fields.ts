import { z } from 'zod';
import { ServiceError } from '../domain/errors.js';
import { E164_PATTERN } from '../domain/phone-number.js';

const template = z
  .string()
  .max(16_384, 'must have at most 16,384 characters')
  .refine(isTemplate, 'must be a string with a JSON object whose values are null, boolean, number or string');

const agentFields = z.object({
  name: text(100),
  instruction: text(32_768),
  voice: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'must be a word of 1 to 64 letters, digits, _ or -'),
  language: z.string().refine(isLanguageTag, 'must be a language tag like en-US'),
  outputParameters: template.exactOptional(),
  maxDurationSeconds: wholeNumber(30, 14_400),
  ringTimeoutSeconds: wholeNumber(5, 120),
  webhookUrl: z
    .string()
    .max(2_048, 'must have at most 2,048 characters')
    .refine(isHttpUrl, 'must be an http or https URL')
    .exactOptional(),
  phoneNumber: z.string().regex(E164_PATTERN, 'must be E.164, like +12025550123').exactOptional(),
});

/** What a customer may say of an agent. */
export type AgentFields = z.output<typeof agentFields>;

const PUBLIC_NAMES: Partial<Record<string, string>> = {
  outputParameters: 'output_parameters',
  maxDurationSeconds: 'max_duration_seconds',
  ringTimeoutSeconds: 'ring_timeout_seconds',
  webhookUrl: 'webhook_url',
  phoneNumber: 'phone_number',
};

/**
 * The fields of an agent, checked, and nothing else of what was given.
 * @throws ServiceError MISSING_PARAMS that names every field at fault
 */
export function checkAgentFields(fields: unknown): AgentFields {
  const parsed = agentFields.safeParse(fields);
  if (parsed.success) return parsed.data;
  const byField: Record<string, string> = {};
  const faults = parsed.error.issues.map(({ path, message }) => {
    const name = PUBLIC_NAMES[String(path[0])] ?? String(path[0]);
    byField[name] ??= `${name} ${message}.`;
    return `${name}: ${message}`;
  });
  throw new ServiceError('MISSING_PARAMS', faults.join('; '), { fields: byField });
}

function text(maxLength: number) {
  const fault = `must have 1 to ${maxLength.toLocaleString('en-US')} characters`;
  return z.string(fault).trim().min(1, fault).max(maxLength, fault);
}

function wholeNumber(min: number, max: number) {
  const fault = `must be a whole number from ${min} to ${max.toLocaleString('en-US')}`;
  return z.int(fault).min(min, fault).max(max, fault);
}

function isTemplate(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    return Object.values(value).every((item) => item === null || ['boolean', 'number', 'string'].includes(typeof item));
  } catch {
    return false;
  }
}

function isLanguageTag(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  return ['http:', 'https:'].includes(new URL(text).protocol);
}
