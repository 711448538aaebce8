import { z } from 'zod';
import { ServiceError } from '../kernel/errors.js';
import { ENGINE_NAMES } from '../kernel/engines.js';
import { E164_PATTERN } from '../kernel/phone-number.js';
import { characterCount } from '../kernel/text.js';
import { toolSchemaFault } from './tool-schema.js';
import { VOICEMAIL_ACTIONS } from '../kernel/voicemail.js';
import type { ConversationSettings } from './model.js';

const template = z
  .string()
  .refine((text) => characterCount(text) <= 16_384, 'must have at most 16,384 characters')
  .refine(isTemplate, 'must be a string with a JSON object whose values are null, boolean, number or string');

/** Names that stand for what the service does itself, or what its engines let a model tell them. */
const OWN_TOOLS = ['end_call', 'send_dtmf', 'transfer_call', 'answering_machine'];

const httpTool = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/, 'name must be 1 to 64 small letters, digits or _')
    .refine((name) => !OWN_TOOLS.includes(name), `name must be none of ${OWN_TOOLS.join(', ')}`),
  description: text(1_000, 'description '),
  method: z.enum(['GET', 'POST'], 'method must be GET or POST'),
  url: z
    .string()
    .refine((text) => characterCount(text) <= 2_048, 'url must have at most 2,048 characters')
    .refine(isHttpUrl, 'url must be an http or https URL'),
  parameters: z
    .string('parameters must be a string holding a JSON Schema')
    .refine((text) => characterCount(text) <= 8_192, 'parameters must have at most 8,192 characters')
    .superRefine((text, context) => {
      const fault = toolSchemaFault(text);
      if (fault !== undefined) context.addIssue({ code: 'custom', message: `parameters ${fault}` });
    }),
  headers: z.array(z.strictObject({ name: z.string(), sealed: z.string() })).exactOptional(),
});

const agentFields = z.object({
  name: text(100),
  instruction: text(32_768),
  voice: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'must be a word of 1 to 64 letters, digits, _ or -'),
  language: z.string().refine(isLanguageTag, 'must be a language tag like en-US').transform(canonicalTag),
  outputParameters: template.exactOptional(),
  maxDurationSeconds: wholeNumber(30, 14_400),
  ringTimeoutSeconds: wholeNumber(5, 120),
  webhookUrl: z
    .string()
    .refine((text) => characterCount(text) <= 2_048, 'must have at most 2,048 characters')
    .refine(isHttpUrl, 'must be an http or https URL')
    .exactOptional(),
  phoneNumber: z.string().regex(E164_PATTERN, 'must be E.164, like +12025550123').exactOptional(),
  engine: z.enum(ENGINE_NAMES, `must be one of ${ENGINE_NAMES.join(', ')}`).exactOptional(),
  aiDisclosure: z.boolean('must be true or false').exactOptional(),
  voicemailAction: z.enum(VOICEMAIL_ACTIONS, `must be one of ${VOICEMAIL_ACTIONS.join(', ')}`).exactOptional(),
  voicemailMessage: text(1_000).exactOptional(),
  transferNumbers: z
    .array(z.string().regex(E164_PATTERN, 'must hold numbers in E.164, like +12025550123'))
    .max(20, 'must have at most 20 numbers')
    .exactOptional(),
  tools: z
    .array(httpTool)
    .max(16, 'must have at most 16 tools')
    .refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, 'must have names of their own')
    .exactOptional(),
});

/** What a customer may say of an agent. */
export type AgentFields = z.output<typeof agentFields>;

const PUBLIC_NAMES: Partial<Record<string, string>> = {
  outputParameters: 'output_parameters',
  maxDurationSeconds: 'max_duration_seconds',
  ringTimeoutSeconds: 'ring_timeout_seconds',
  webhookUrl: 'webhook_url',
  phoneNumber: 'phone_number',
  aiDisclosure: 'ai_disclosure',
  voicemailAction: 'voicemail_action',
  voicemailMessage: 'voicemail_message',
  transferNumbers: 'transfer_numbers',
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
    const [field, ...place] = path;
    const name = PUBLIC_NAMES[String(field)] ?? String(field);
    byField[name] ??= `${name} ${message}.`;
    if (place.length > 0) byField[[name, ...place].join('.')] ??= `${message}.`;
    return `${name}: ${message}`;
  });
  throw new ServiceError('MISSING_PARAMS', faults.join('; '), { fields: byField });
}

/** How an agent conducts its conversations; what is not set stays absent. */
export function conversationSettingsOf(agent: ConversationSettings): ConversationSettings {
  const { engine, aiDisclosure, voicemailAction, voicemailMessage, transferNumbers, tools } = agent;
  const settings = { engine, aiDisclosure, voicemailAction, voicemailMessage, transferNumbers, tools };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

function text(maxLength: number, prefix = '') {
  const fault = `${prefix}must have 1 to ${maxLength.toLocaleString('en-US')} characters`;
  return z
    .string(fault)
    .trim()
    .min(1, fault)
    .refine((value) => characterCount(value) <= maxLength, fault);
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

/** `EN-us` is `en-US`. */
function canonicalTag(text: string): string {
  return Intl.getCanonicalLocales(text)[0] ?? text;
}

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  return ['http:', 'https:'].includes(new URL(text).protocol);
}
