import { toStored } from '../../agents/agent-definition.js';
import type { AgentWarning } from '../../agents/fields/provider-ids.js';
import { ServiceError } from '../../kernel/errors.js';
import { createAgents, type NewAgent } from '../../agents/agents.js';
import { checkWebhookUrl } from '../../platform/egress/webhook-url.js';
import { createProviderChecks } from '../../voice/engines/agent-ids/prompt-check.js';
import { agentChanges, agentValues, type AgentOptions } from '../agent-options.js';
import type { AdminConnection } from './connect.js';
import { requireEncryptionKeys } from './secrets.js';
import type { Output } from '../output.js';
import { recordSavedAgent } from '../saved-agent.js';
import { AGENT_TABLE } from '../tables.js';
import { agentRow } from './views.js';

export async function createAgentFor(on: AdminConnection, out: Output, accountId: string, options: AgentOptions) {
  const { calls } = on.config;
  const fields = await storedFields(on, await agentValues(options));
  const given = {
    voice: calls.defaultVoice,
    language: calls.defaultLanguage,
    ringTimeoutSeconds: calls.ringSeconds,
    ...(fields as Pick<NewAgent, 'name' | 'instruction'>),
    accountId,
  };
  const warnings: AgentWarning[] = [];
  const agent = await agentsOf(on).create(given, (warning) => void warnings.push(warning));
  await showSaved(out, 'Agent created.', agentRow(agent), warnings);
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
  const changes = await storedFields(on, await agentChanges(options));
  const warnings: AgentWarning[] = [];
  const agent = await agentsOf(on).update(agentId, changes, {
    warn: (warning) => void warnings.push(warning),
  });
  await showSaved(out, 'Agent updated.', agentRow(agent), warnings);
}

/** Agents that are checked like those of customers. */
function agentsOf({ database, config }: AdminConnection) {
  return createAgents(database, config, createProviderChecks(config));
}

function showSaved(out: Output, sentence: string, agent: object, warnings: readonly AgentWarning[]): Promise<void> {
  const shown = warnings.map(({ field, message }) => ({ param: field, message }));
  return recordSavedAgent(out, sentence, shown.length === 0 ? agent : { ...agent, warnings: shown });
}

/**
 * Validates the webhook URL and converts the fields to their stored form.
 * @throws ServiceError MISSING_PARAMS; CliError when headers of tools would be encrypted with the published key
 */
async function storedFields(
  on: AdminConnection,
  values: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  if (hasSecrets(values['tools'])) await requireEncryptionKeys(on);
  const url = values['webhook_url'];
  const fault = typeof url === 'string' ? checkWebhookUrl(url, on.config) : undefined;
  if (fault !== undefined) throw new ServiceError('MISSING_PARAMS', fault);
  return toStored(values);
}

/** Whether a tool has a header with a value, which is stored encrypted. */
function hasSecrets(tools: unknown): boolean {
  const given = (Array.isArray(tools) ? tools : []) as ({ headers?: object | null } | null)[];
  return given.some((tool) => Object.values(tool?.headers ?? {}).some((value) => typeof value === 'string'));
}
