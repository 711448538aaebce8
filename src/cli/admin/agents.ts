import { toStored } from '../../agents/agent-definition.js';
import { ServiceError } from '../../kernel/errors.js';
import { createAgents, type NewAgent } from '../../agents/agents.js';
import { checkWebhookUrl } from '../../platform/egress/webhook-url.js';
import { createAgentIdCheck } from '../../voice/engines/agent-ids/agent-id-check.js';
import { agentChanges, agentValues, type AgentOptions } from '../agent-options.js';
import type { AdminConnection } from './connect.js';
import type { Output } from '../output.js';
import { AGENT_TABLE } from '../tables.js';
import { agentRow } from './views.js';

export async function createAgentFor(on: AdminConnection, out: Output, accountId: string, options: AgentOptions) {
  const { calls } = on.config;
  const fields = storedFields(on, await agentValues(options));
  const agent = await agentsOf(on, out).create({
    voice: calls.defaultVoice,
    language: calls.defaultLanguage,
    ringTimeoutSeconds: calls.ringSeconds,
    ...(fields as Pick<NewAgent, 'name' | 'instruction'>),
    accountId,
  });
  await out.record('Agent created.', agentRow(agent));
}

export async function listAgentsOf({ database }: AdminConnection, out: Output, accountId: string) {
  await out.table((await createAgents(database).list(accountId)).map(agentRow), AGENT_TABLE);
}

export async function showAgent({ database }: AdminConnection, out: Output, agentId: string) {
  const agent = await createAgents(database).find(agentId);
  if (!agent) throw new ServiceError('AGENT_NOT_FOUND', `There is no agent ${agentId}.`);
  await out.record('', agentRow(agent));
}

export async function updateAgentById(on: AdminConnection, out: Output, agentId: string, options: AgentOptions) {
  const changes = storedFields(on, await agentChanges(options));
  await out.record('Agent updated.', agentRow(await agentsOf(on, out).update(agentId, changes)));
}

/** Agents that are checked like those of customers. People see the warnings of the check. */
function agentsOf({ database, config }: AdminConnection, out: Output) {
  const warn = (text: string) => void (out.json || out.line({}, `warning: ${text}`));
  const check = createAgentIdCheck(config, { onWarning: ({ field, why }) => warn(`${field}: ${why}`) });
  return createAgents(database, config, check);
}

/** Validates the webhook URL and converts the fields to their stored form. @throws ServiceError MISSING_PARAMS */
function storedFields(on: AdminConnection, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const url = values['webhook_url'];
  const fault = typeof url === 'string' ? checkWebhookUrl(url, on.config) : undefined;
  if (fault !== undefined) throw new ServiceError('MISSING_PARAMS', fault);
  return toStored(values);
}
