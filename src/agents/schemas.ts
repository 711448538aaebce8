import { z } from 'zod';
import { listOf, paging, timestamp } from '../platform/http/contract/list.js';
import {
  AGENT_FIELD_LIST,
  AGENT_FIELDS,
  type AgentFieldName,
  type GivenField,
  type OptionalField,
  type ValueOf,
} from './agent-definition.js';
import { ruleOf } from './field-rules.js';
import { shownTools } from './tool-rules.js';

type Rule<F extends AgentFieldName> = z.ZodType<ValueOf<F>, ValueOf<F>>;
type Rules<F extends AgentFieldName> = { [N in F]: Rule<N> };

const rules = Object.fromEntries(
  AGENT_FIELD_LIST.map((field) => [field.name, ruleOf(field.name, field)]),
) as Rules<AgentFieldName>;

/** Returns the validation rules of the fields whose `presence` is one of the given ones. */
function rulesOf<F extends AgentFieldName>(...presence: string[]): Rules<F> {
  const names = AGENT_FIELD_LIST.filter((field) => presence.includes(field.presence)).map(({ name }) => name);
  return Object.fromEntries(names.map((name) => [name, rules[name]])) as Rules<F>;
}

const given = rulesOf<GivenField>('given');
const others = rulesOf<Exclude<AgentFieldName, GivenField>>('filled', 'optional');
const optional = rulesOf<OptionalField>('optional');

/** Validates all stored fields of an agent. */
export const WholeAgent = z.object({ ...rules, ...z.object(optional).partial().shape });

const newAgent = { ...given, ...z.object(others).partial().shape };

export const NewAgentBody = z
  // The message for a draft in the body of another request.
  .strictObject(newAgent, `agent: must be an object with these fields only: ${Object.keys(newAgent).join(', ')}.`)
  .meta({
    id: 'NewAgent',
    description: `Voice, language and ring_timeout_seconds default to the service’s, max_duration_seconds to ${AGENT_FIELDS.max_duration_seconds.initial}.`,
  });

export const AgentChangesBody = z
  .strictObject({
    ...z.object(rules).partial().shape,
    ...(Object.fromEntries(Object.entries(optional).map(([name, rule]) => [name, rule.nullable().optional()])) as {
      [F in OptionalField]: z.ZodOptional<z.ZodNullable<Rule<F>>>;
    }),
  })
  .meta({
    id: 'AgentChanges',
    minProperties: 1,
    description: 'Fields that are absent stay unchanged; null removes an optional field.',
  });

export const Agent = z
  .object({
    agent_id: z.string().describe('Identifier of the agent.'),
    mode: z
      .enum(['live', 'test'])
      .describe('Mode of the agent. Live calls can use live agents only; test calls can use both.'),
    ...WholeAgent.shape,
    tools: shownTools.optional().meta({ description: AGENT_FIELDS.tools.about }),
    created_at: timestamp('When it was created.'),
    updated_at: timestamp('When it was last changed.'),
    archived_at: timestamp('When it was archived; absent while it is in use.').optional(),
  })
  .meta({ id: 'Agent' });
export type Agent = z.infer<typeof Agent>;

export const SavedAgent = Agent.extend({
  warnings: z
    .array(
      z.object({
        param: z.enum(['model', 'voice_id', 'instruction']).describe('The field that the warning is about.'),
        message: z.string().describe('Human-readable text.'),
      }),
    )
    .optional()
    .describe('Settings that may not work in calls, although the agent is saved. Absent if there are none.'),
}).meta({ id: 'SavedAgent' });
export type SavedAgent = z.infer<typeof SavedAgent>;

export const AgentList = listOf(Agent, 'AgentList');

export const AgentsQuery = z.object({
  ...paging(),
  archived: z
    .enum(['true', 'false'], 'archived must be true or false.')
    .optional()
    .meta({ description: 'true lists archived agents instead of active ones.' }),
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

/** An agent whose provider did not answer when it was saved. */
export const SAVED_AGENT_EXAMPLE: SavedAgent = {
  ...AGENT_EXAMPLE,
  voice_id: 'JBFqnCBsd6RMkjVDRZzb',
  warnings: [
    {
      param: 'voice_id',
      message:
        'The provider could not be asked about it (no response in time). If it is wrong, only a call shows that.',
    },
  ],
};
