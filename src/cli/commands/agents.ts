import { readFile } from 'node:fs/promises';
import type { EngineName } from '../../domain/engines.js';
import { ServiceError } from '../../domain/errors.js';
import type { VoicemailAction } from '../../domain/voicemail.js';
import { createAgents, type AgentChanges } from '../../store/agents.js';
import type { HttpTool } from '../../store/models/agent.js';
import { checkWebhookUrl } from '../../webhooks/guard.js';
import type { Connection } from '../connect.js';
import type { Output } from '../output.js';
import { CliError, EXIT_USAGE } from '../run.js';
import { agentView } from '../views.js';

const COLUMNS = {
  agent_id: 'Agent',
  name: 'Name',
  voice: 'Voice',
  language: 'Language',
  max_duration_seconds: 'Max s',
  phone_number: 'Number',
  webhook_url: 'Webhook',
};

/** Options of `agents create` and `agents update`, as commander names them. */
export interface AgentOptions {
  name?: string;
  instruction?: string;
  instructionFile?: string;
  voice?: string;
  language?: string;
  outputParameters?: string;
  maxDuration?: number;
  ringTimeout?: number;
  webhookUrl?: string;
  phoneNumber?: string;
  engine?: EngineName;
  aiDisclosure?: boolean;
  voicemail?: VoicemailAction;
  voicemailMessage?: string;
  transferNumber?: string[];
  toolsFile?: string;
}

const CLEARABLE = {
  'output-parameters': 'outputParameters',
  'webhook-url': 'webhookUrl',
  'phone-number': 'phoneNumber',
  engine: 'engine',
  voicemail: 'voicemailAction',
  'voicemail-message': 'voicemailMessage',
  'transfer-numbers': 'transferNumbers',
  tools: 'tools',
} as const;

export async function createAgent(on: Connection, out: Output, accountId: string, options: AgentOptions) {
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
  await out.record('Agent created.', agentView(agent));
}

export async function listAgents({ database }: Connection, out: Output, accountId: string) {
  await out.table((await createAgents(database).list(accountId)).map(agentView), COLUMNS);
}

export async function showAgent({ database }: Connection, out: Output, agentId: string) {
  const agent = await createAgents(database).find(agentId);
  if (!agent) throw new ServiceError('AGENT_NOT_FOUND', `There is no agent ${agentId}.`);
  await out.record('', agentView(agent));
}

export async function updateAgent(
  on: Connection,
  out: Output,
  agentId: string,
  options: AgentOptions & { clear?: (keyof typeof CLEARABLE)[] },
) {
  const { clear = [], ...given } = options;
  const cleared: AgentChanges = Object.fromEntries(clear.map((field) => [CLEARABLE[field], null]));
  const changes: AgentChanges = { ...(await fieldsOf(on, given)), ...cleared };
  if (Object.keys(changes).length === 0) throw new CliError('Nothing to change was given.', EXIT_USAGE);
  await out.record('Agent changed.', agentView(await createAgents(on.database, on.config).update(agentId, changes)));
}

async function fieldsOf(on: Connection, options: AgentOptions) {
  const { maxDuration, ringTimeout, instructionFile, voicemail, transferNumber, toolsFile, ...fields } = options;
  if (fields.webhookUrl !== undefined) {
    const fault = checkWebhookUrl(fields.webhookUrl, on.config);
    if (fault !== undefined) throw new ServiceError('MISSING_PARAMS', fault);
  }
  return {
    ...fields,
    ...(instructionFile === undefined ? {} : { instruction: await instructionIn(instructionFile) }),
    ...(maxDuration === undefined ? {} : { maxDurationSeconds: maxDuration }),
    ...(ringTimeout === undefined ? {} : { ringTimeoutSeconds: ringTimeout }),
    ...(voicemail === undefined ? {} : { voicemailAction: voicemail }),
    ...(transferNumber === undefined ? {} : { transferNumbers: transferNumber }),
    ...(toolsFile === undefined ? {} : { tools: await toolsIn(toolsFile) }),
  };
}

/** Tools as a person writes them: `parameters` may be the JSON Schema itself. What else is wrong the store tells. */
async function toolsIn(file: string): Promise<HttpTool[]> {
  let tools: unknown;
  try {
    tools = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new CliError(`The tools cannot be read: ${(error as Error).message}`, EXIT_USAGE);
  }
  if (!Array.isArray(tools)) throw new CliError('The tools file must hold a JSON list.', EXIT_USAGE);
  return tools.map((tool: HttpTool | { parameters: object }) =>
    typeof tool?.parameters === 'object' ? { ...tool, parameters: JSON.stringify(tool.parameters) } : tool,
  ) as HttpTool[];
}

async function instructionIn(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`The instruction cannot be read: ${(error as Error).message}`, EXIT_USAGE);
  }
}
