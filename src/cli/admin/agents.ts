import { AGENT_FIELD_NAMES } from '../../agents/schemas.js';
import { ServiceError } from '../../kernel/errors.js';
import { createAgents, type AgentChanges } from '../../agents/agents.js';
import { checkWebhookUrl } from '../../platform/egress/webhook-url.js';
import { CLEARABLE, readAgentFiles, type AgentOptions, type Clearable } from '../agent-options.js';
import type { AdminConnection } from './connect.js';
import type { Output } from '../output.js';
import { CliError, EXIT_USAGE } from '../run.js';
import { AGENT_TABLE } from '../tables.js';
import { agentRow } from './views.js';

export async function createAgent(on: AdminConnection, out: Output, accountId: string, options: AgentOptions) {
  const { calls } = on.config;
  const { name = '', instruction = '', ...given } = await fieldsOf(on, options);
  const agent = await createAgents(on.database, on.config).create({
    voice: calls.defaultVoice,
    language: calls.defaultLanguage,
    ringTimeoutSeconds: calls.ringSeconds,
    ...given,
    name,
    instruction,
    accountId,
  });
  await out.record('Agent created.', agentRow(agent));
}

export async function listAgents({ database }: AdminConnection, out: Output, accountId: string) {
  await out.table((await createAgents(database).list(accountId)).map(agentRow), AGENT_TABLE);
}

export async function showAgent({ database }: AdminConnection, out: Output, agentId: string) {
  const agent = await createAgents(database).find(agentId);
  if (!agent) throw new ServiceError('AGENT_NOT_FOUND', `There is no agent ${agentId}.`);
  await out.record('', agentRow(agent));
}

export async function updateAgent(
  on: AdminConnection,
  out: Output,
  agentId: string,
  options: AgentOptions & { clear?: Clearable[] },
) {
  const { clear = [], ...given } = options;
  const cleared: AgentChanges = Object.fromEntries(clear.map((field) => [AGENT_FIELD_NAMES[CLEARABLE[field]], null]));
  const changes: AgentChanges = { ...(await fieldsOf(on, given)), ...cleared };
  if (Object.keys(changes).length === 0) throw new CliError('Nothing to change was given.', EXIT_USAGE);
  await out.record('Agent changed.', agentRow(await createAgents(on.database, on.config).update(agentId, changes)));
}

async function fieldsOf(on: AdminConnection, options: AgentOptions) {
  const { maxDuration, ringTimeout, voicemail, transferNumber, ...fields } = await readAgentFiles(options);
  if (fields.webhookUrl !== undefined) {
    const fault = checkWebhookUrl(fields.webhookUrl, on.config);
    if (fault !== undefined) throw new ServiceError('MISSING_PARAMS', fault);
  }
  return {
    ...fields,
    ...(maxDuration === undefined ? {} : { maxDurationSeconds: maxDuration }),
    ...(ringTimeout === undefined ? {} : { ringTimeoutSeconds: ringTimeout }),
    ...(voicemail === undefined ? {} : { voicemailAction: voicemail }),
    ...(transferNumber === undefined ? {} : { transferNumbers: transferNumber }),
  };
}
