import { z } from 'zod';
import { ENGINE_NAMES } from '../kernel/engines.js';
import { E164_PATTERN } from '../kernel/phone-number.js';
import { VOICEMAIL_ACTIONS } from '../kernel/voicemail.js';
import {
  fullText,
  HTTP_URL,
  jsonObjectText,
  MAX_LENGTHS,
  ofLength,
  webhookUrl,
} from '../platform/http/contract/fields.js';
import { label, listOf, timestamp, paging } from '../platform/http/contract/list.js';

const wholeNumber = (field: string, min: number, max: number) => {
  const fault = `${field} must be a whole number from ${min} to ${max}.`;
  return z.int(fault).min(min, fault).max(max, fault);
};

/** What a tool is, given and shown. */
const toolFields = {
  name: z
    .string('tools: each needs a name.')
    .regex(/^[a-z][a-z0-9_]{0,63}$/, 'tools: name must be 1 to 64 small letters, digits or _.')
    .meta({ description: 'Small letters, digits, _.', examples: ['find_slot'] }),
  description: fullText('tools: description', 1_000).meta({ description: 'When to use it, for the model.' }),
  method: z
    .enum(['GET', 'POST'], 'tools: method must be GET or POST.')
    .describe('HTTP method of the request that the tool makes.'),
  url: ofLength(
    z.string('tools: each needs a url.'),
    { max: 2_048 },
    'tools: url must have at most 2048 characters.',
  ).meta({
    description: 'HTTP or HTTPS URL that the tool requests.',
    format: 'uri',
    pattern: HTTP_URL,
    examples: ['https://example.com/slots'],
  }),
  parameters: ofLength(
    z.string('tools: parameters must be a string holding a JSON Schema.'),
    { max: 8_192 },
    'tools: parameters must have at most 8192 characters.',
  ).meta({
    format: 'json-schema',
    contentMediaType: 'application/schema+json',
    description: 'JSON Schema of its arguments, of type object, in a string.',
    examples: ['{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}'],
  }),
};

const headerNames = z
  .array(z.string('tools: header_names must be a list of names.'), 'tools: header_names must be a list of names.')
  .max(10, 'tools: header_names must be at most 10.')
  .optional();

const givenTool = z
  .strictObject({
    ...toolFields,
    headers: z
      .record(
        z.string(),
        z
          .string('tools: headers must be an object of names and strings.')
          .meta({ minLength: 1, maxLength: 2_048, pattern: '^[!-~]([ -~]*[!-~])?$' })
          .nullable(),
        'tools: headers must be an object of names and strings.',
      )
      .nullable()
      .optional()
      .meta({
        writeOnly: true,
        maxProperties: 10,
        propertyNames: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$' },
        description:
          'Secret headers of its requests, by name, shown to nobody. A tool that the agent has already keeps those that are not given, while its url keeps its origin; null takes one away, or all.',
      }),
    header_names: headerNames.meta({ description: 'As an answer has it; ignored.' }),
  })
  .meta({ id: 'AgentToolInput' });

const shownTool = z
  .object({
    ...toolFields,
    header_names: headerNames.meta({ readOnly: true, description: 'Its secret headers; their values are not shown.' }),
  })
  .meta({ id: 'AgentTool' });

const word = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** What a customer may say of an agent, by its public names. A further field stands here and in `AGENT_FIELD_NAMES`. */
const fields = {
  name: label('name').meta({ description: 'Descriptive name.', examples: ['Reminders'] }),
  instruction: fullText('instruction', MAX_LENGTHS.instruction).meta({
    description: 'Prompt that defines what the agent does.',
    examples: ['Remind the caller of the appointment.'],
  }),
  voice: z
    .string('voice must be a string.')
    .regex(word, 'voice must be a word of 1 to 64 letters, digits, _ or -.')
    .meta({ description: 'Voice model.', examples: ['amber'] }),
  language: z
    .string('language must be a string.')
    .max(35, 'language must be a language tag like en-US.')
    .regex(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/, 'language must be a language tag like en-US.')
    .meta({ description: 'Language tag (BCP 47).', examples: ['en-US'] }),
  output_parameters: jsonObjectText('output_parameters', true).meta({
    description: 'Template of the data to extract: a JSON object, encoded as a string.',
    examples: ['{"confirmed":null}'],
  }),
  max_duration_seconds: wholeNumber('max_duration_seconds', 30, 14_400).meta({ description: 'Longest talk.' }),
  ring_timeout_seconds: wholeNumber('ring_timeout_seconds', 5, 120).meta({ description: 'How long a phone rings.' }),
  webhook_url: webhookUrl,
  phone_number: z
    .string('phone_number must be a string.')
    .regex(E164_PATTERN, 'phone_number must be E.164, like +12025550123.')
    .meta({ description: 'The number this agent calls from, one of the account’s.', examples: ['+12025550199'] }),
  engine: z
    .enum(ENGINE_NAMES, `engine must be one of ${ENGINE_NAMES.join(', ')}.`)
    .meta({ description: 'What conducts its live calls; without it, what the service is configured with.' }),
  ai_disclosure: z
    .boolean('ai_disclosure must be true or false.')
    .meta({ description: 'Whether it says at once that it is a machine. Without it, it does.' }),
  voicemail_action: z
    .enum(VOICEMAIL_ACTIONS, `voicemail_action must be one of ${VOICEMAIL_ACTIONS.join(', ')}.`)
    .meta({ description: 'What it does when a mailbox answers; hang_up without it.' }),
  voicemail_message: fullText('voicemail_message', 1_000).meta({ description: 'Said after the tone.' }),
  transfer_numbers: z
    .array(
      z
        .string('transfer_numbers must hold strings.')
        .regex(E164_PATTERN, 'transfer_numbers must hold numbers in E.164, like +12025550123.'),
      'transfer_numbers must be a list of numbers.',
    )
    .max(20, 'transfer_numbers must have at most 20 numbers.')
    .meta({ description: 'The only numbers it may transfer a call to.', examples: [['+12025550142']] }),
  tools: z
    .array(givenTool, 'tools must be a list.')
    .max(16, 'tools must have at most 16 tools.')
    .meta({ description: 'Requests it may make during a call.' }),
};

/** How each public field is named in the store. */
export const AGENT_FIELD_NAMES = {
  name: 'name',
  instruction: 'instruction',
  voice: 'voice',
  language: 'language',
  output_parameters: 'outputParameters',
  max_duration_seconds: 'maxDurationSeconds',
  ring_timeout_seconds: 'ringTimeoutSeconds',
  webhook_url: 'webhookUrl',
  phone_number: 'phoneNumber',
  engine: 'engine',
  ai_disclosure: 'aiDisclosure',
  voicemail_action: 'voicemailAction',
  voicemail_message: 'voicemailMessage',
  transfer_numbers: 'transferNumbers',
  tools: 'tools',
} as const satisfies Record<keyof typeof fields, string>;

/** Fields that an agent may be without: null takes them away. */
const OPTIONAL = [
  'output_parameters',
  'webhook_url',
  'phone_number',
  'engine',
  'ai_disclosure',
  'voicemail_action',
  'voicemail_message',
  'transfer_numbers',
  'tools',
] as const;
type OptionalField = (typeof OPTIONAL)[number];

const PICKED = Object.fromEntries(OPTIONAL.map((field) => [field, true])) as { [F in OptionalField]: true };

function removable<T extends z.ZodType>(field: T) {
  return field.nullable();
}

const { name, instruction, ...others } = fields;

export const NewAgentBody = z.strictObject({ name, instruction, ...z.object(others).partial().shape }).meta({
  id: 'NewAgent',
  description: 'Voice, language and ring_timeout_seconds default to the service’s, max_duration_seconds to 600.',
});

export const AgentChangesBody = z
  .strictObject({
    ...z.object(fields).partial().shape,
    ...(Object.fromEntries(OPTIONAL.map((field) => [field, removable(fields[field]).optional()])) as {
      [F in OptionalField]: z.ZodOptional<z.ZodNullable<(typeof fields)[F]>>;
    }),
  })
  .meta({
    id: 'AgentChanges',
    minProperties: 1,
    description: 'Fields that are absent stay as they are; null takes an optional one away.',
  });

export const Agent = z
  .object({
    agent_id: z.string().describe('Identifier of the agent.'),
    mode: z
      .enum(['live', 'test'])
      .describe('The mode it was made in. Live calls know live agents only; test calls may use both.'),
    ...fields,
    ...z.object(fields).pick(PICKED).partial().shape,
    tools: z.array(shownTool).optional().meta({ description: 'Requests it may make during a call.' }),
    created_at: timestamp('When it was made.'),
    updated_at: timestamp('When it was changed last.'),
    archived_at: timestamp('When it was archived; absent while it is in use.').optional(),
  })
  .meta({ id: 'Agent' });
export type Agent = z.infer<typeof Agent>;

export const AgentList = listOf(Agent, 'AgentList');

export const AgentsQuery = z.object({
  ...paging(),
  archived: z
    .enum(['true', 'false'], 'archived must be true or false.')
    .optional()
    .meta({ description: 'true: the archived ones instead of those in use.' }),
});

export const AGENT_EXAMPLE: Agent = {
  agent_id: 'agent_01JD3Q4Z6WX8Y2V7T5R9S1K0MN',
  mode: 'live',
  name: 'Reminders',
  instruction: 'Remind the caller of the appointment.',
  voice: 'amber',
  language: 'en-US',
  output_parameters: '{"confirmed":null}',
  max_duration_seconds: 600,
  ring_timeout_seconds: 30,
  webhook_url: 'https://example.com/call-completed',
  created_at: '2026-11-21T10:00:00.000Z',
  updated_at: '2026-11-21T10:00:00.000Z',
};
