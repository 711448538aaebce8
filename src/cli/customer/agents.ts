import { agentChanges, agentValues, type AgentOptions } from '../agent-options.js';
import type { Output } from '../output.js';
import { CliError, EXIT_USAGE } from '../run.js';
import { recordSavedAgent } from '../saved-agent.js';
import { AGENT_TABLE } from '../tables.js';
import { readPages, type PageOptions } from './lists.js';
import { isDemoKey, type Service } from './service.js';

export async function createAgent({ client }: Service, out: Output, options: AgentOptions): Promise<void> {
  const { name = '', instruction, ...fields } = await agentValues(options);
  if (instruction === undefined) {
    throw new CliError('--instruction or --instruction-file is required.', EXIT_USAGE);
  }
  const agent = await client.post('/agents', { body: { name, instruction, ...fields } });
  await recordSavedAgent(out, 'Agent created.', agent);
}

export async function listAgents(
  { client }: Service,
  out: Output,
  { archived, ...paging }: PageOptions & { archived?: boolean },
): Promise<void> {
  const query = archived ? ({ archived: 'true' } as const) : {};
  await out.page(await readPages(client, '/agents', query, paging), AGENT_TABLE);
}

export async function getAgent({ client }: Service, out: Output, agentId: string): Promise<void> {
  await out.record('', await client.get('/agents/{agent_id}', { params: { agent_id: agentId } }));
}

/**
 * If the demo account's keys are in use, switches to the key of the agent's mode, because a test key cannot change a
 * live agent.
 */
export async function useModeOf(service: Service, agentId: string): Promise<void> {
  if (!isDemoKey(service.keySource)) return;
  const { mode } = await service.client.get('/agents/{agent_id}', { params: { agent_id: agentId } });
  service.useMode(mode);
}

export async function updateAgent(
  service: Service,
  out: Output,
  agentId: string,
  options: AgentOptions,
): Promise<void> {
  const body = await agentChanges(options);
  await useModeOf(service, agentId);
  const params = { agent_id: agentId };
  await recordSavedAgent(out, 'Agent updated.', await service.client.patch('/agents/{agent_id}', { params, body }));
}

export async function archiveAgent(service: Service, out: Output, agentId: string): Promise<void> {
  await useModeOf(service, agentId);
  const agent = await service.client.delete('/agents/{agent_id}', { params: { agent_id: agentId } });
  await out.record('Agent archived. New calls cannot use it.', agent);
}
