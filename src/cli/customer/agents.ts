import type { Agent } from '../../agents/schemas.js';
import { CLEARABLE, readAgentFiles, type AgentOptions, type Clearable } from '../agent-options.js';
import type { Output } from '../output.js';
import { CliError, EXIT_USAGE } from '../run.js';
import { AGENT_TABLE } from '../tables.js';
import { given, readPages, type PageOptions } from './lists.js';
import { isDemoKey, type Service } from './service.js';

export async function createAgent({ client }: Service, out: Output, options: AgentOptions): Promise<void> {
  const { name = '', instruction, ...fields } = await fieldsOf(options);
  if (instruction === undefined) {
    throw new CliError('Either --instruction or --instruction-file must be given.', EXIT_USAGE);
  }
  await out.record('Agent created.', await client.post('/agents', { body: { name, instruction, ...fields } }));
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

/** Of the demo account's keys, the one that may change the agent: a test key changes no live one. */
export async function useModeOf(service: Service, agentId: string): Promise<void> {
  if (!isDemoKey(service.keySource)) return;
  const { mode } = await service.client.get('/agents/{agent_id}', { params: { agent_id: agentId } });
  service.useMode(mode);
}

export async function updateAgent(
  service: Service,
  out: Output,
  agentId: string,
  options: AgentOptions & { clear?: Clearable[] },
): Promise<void> {
  const { clear = [], ...changes } = options;
  const cleared = Object.fromEntries(clear.map((field) => [CLEARABLE[field], null]));
  const body = { ...(await fieldsOf(changes)), ...cleared };
  if (Object.keys(body).length === 0) throw new CliError('Nothing to change was given.', EXIT_USAGE);
  await useModeOf(service, agentId);
  const params = { agent_id: agentId };
  await out.record('Agent changed.', await service.client.patch('/agents/{agent_id}', { params, body }));
}

export async function archiveAgent(service: Service, out: Output, agentId: string): Promise<void> {
  await useModeOf(service, agentId);
  const agent = await service.client.delete('/agents/{agent_id}', { params: { agent_id: agentId } });
  await out.record('Agent archived; no new call can use it.', agent);
}

async function fieldsOf(options: AgentOptions): Promise<Partial<Agent>> {
  const read = await readAgentFiles(options);
  return given({
    name: read.name,
    instruction: read.instruction,
    voice: read.voice,
    language: read.language,
    output_parameters: read.outputParameters,
    max_duration_seconds: read.maxDuration,
    ring_timeout_seconds: read.ringTimeout,
    webhook_url: read.webhookUrl,
    phone_number: read.phoneNumber,
    engine: read.engine,
    ai_disclosure: read.aiDisclosure,
    voicemail_action: read.voicemail,
    voicemail_message: read.voicemailMessage,
    transfer_numbers: read.transferNumber,
    tools: read.tools,
  });
}
