import { z } from 'zod';
import { E164_PATTERN } from '../../domain/phone-number.js';
import { jsonObjectText, MAX_LENGTHS, text, webhookUrl } from '../fields.js';
import { paging } from '../statements.js';
import { label, listOf, timestamp } from './list.js';

const wholeNumber = (field: string, min: number, max: number) => {
  const fault = `${field} must be a whole number from ${min} to ${max}.`;
  return z.int(fault).min(min, fault).max(max, fault);
};

const word = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** What a customer may say of an agent, by its public names. A further field stands here and in `AGENT_FIELD_NAMES`. */
const fields = {
  name: label('name').meta({ description: 'Descriptive name.', examples: ['Reminders'] }),
  instruction: text('instruction', MAX_LENGTHS.instruction)
    .refine((value) => value.trim() !== '', 'instruction must not be empty.')
    .meta({
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
} as const satisfies Record<keyof typeof fields, string>;

/** Fields that an agent may be without: null takes them away. */
const OPTIONAL = ['output_parameters', 'webhook_url', 'phone_number'] as const;
type OptionalField = (typeof OPTIONAL)[number];

function removable<T extends z.ZodType>(field: T) {
  return field.nullable();
}

const { name, instruction, ...others } = fields;

export const NewAgentBody = z.object({ name, instruction, ...z.object(others).partial().shape }).meta({
  id: 'NewAgent',
  description: 'Voice and language default to the service’s, 600 s of talk, 30 s of ringing.',
});

export const AgentChangesBody = z
  .object({
    ...z.object(fields).partial().shape,
    ...(Object.fromEntries(OPTIONAL.map((field) => [field, removable(fields[field]).optional()])) as {
      [F in OptionalField]: z.ZodOptional<z.ZodNullable<(typeof fields)[F]>>;
    }),
  })
  .meta({
    id: 'AgentChanges',
    description: 'Fields that are absent stay as they are; null takes an optional one away.',
  });

export const Agent = z
  .object({
    agent_id: z.string(),
    ...fields,
    ...z
      .object({
        output_parameters: fields.output_parameters,
        webhook_url: fields.webhook_url,
        phone_number: fields.phone_number,
      })
      .partial().shape,
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
