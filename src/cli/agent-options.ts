import { readFile } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import { ENGINE_NAMES, type EngineName } from '../kernel/engines.js';
import { VOICEMAIL_ACTIONS, type VoicemailAction } from '../kernel/voicemail.js';
import { wholeNumber } from './arguments.js';
import { CliError, EXIT_USAGE } from './run.js';

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

/** What `--clear` takes, and how the interface names each. */
export const CLEARABLE = {
  'output-parameters': 'output_parameters',
  'webhook-url': 'webhook_url',
  'phone-number': 'phone_number',
  engine: 'engine',
  voicemail: 'voicemail_action',
  'voicemail-message': 'voicemail_message',
  'transfer-numbers': 'transfer_numbers',
  tools: 'tools',
} as const;
export type Clearable = keyof typeof CLEARABLE;

/** A tool of an agent; `parameters` is a JSON Schema in a string, `headers` secret values by name. */
export interface AgentTool {
  name: string;
  description: string;
  method: 'GET' | 'POST';
  url: string;
  parameters: string;
  headers?: Record<string, string | null> | null;
  header_names?: string[];
}

export function withAgentFields(command: Command): Command {
  return command
    .option('--instruction <text>', 'the prompt that defines its behaviour')
    .addOption(new Option('--instruction-file <file>', 'the prompt, from a file').conflicts('instruction'))
    .option('--voice <voice>', 'one that "callwright voices" lists')
    .option('--language <tag>', 'of the conversation, like en-US; one that the voice speaks')
    .addOption(new Option('--engine <engine>', 'conducts its live calls (default: ENGINE)').choices(ENGINE_NAMES))
    .option('--ai-disclosure', 'say in the first sentence that an AI is speaking (default)')
    .option('--no-ai-disclosure', 'say so only when asked')
    .addOption(new Option('--voicemail <action>', 'what to do with a mailbox').choices(VOICEMAIL_ACTIONS))
    .option('--voicemail-message <text>', 'what leave_message says after the tone')
    .option('--transfer-number <number...>', 'the only numbers it may put a call through to; replaces the list')
    .option('--tools-file <file>', 'a JSON list of its HTTP tools; replaces the list')
    .option('--output-parameters <json>', 'data to extract: a JSON object of null, boolean, number or string values')
    .option('--max-duration <seconds>', '30 to 14400', wholeNumber)
    .option('--ring-timeout <seconds>', '5 to 120', wholeNumber)
    .option('--webhook-url <url>', 'receives the completion event of its calls')
    .option('--phone-number <number>', 'a number of the account that it calls from');
}

export function clearOption(): Option {
  return new Option('--clear <field...>', 'remove an optional field').choices(Object.keys(CLEARABLE));
}

/** The same with the contents of the files that they name. */
export async function readAgentFiles(options: AgentOptions) {
  const { instructionFile, toolsFile, ...given } = options;
  return {
    ...given,
    ...(instructionFile === undefined ? {} : { instruction: await textIn(instructionFile, 'instruction') }),
    ...(toolsFile === undefined ? {} : { tools: await toolsIn(toolsFile) }),
  };
}

/** Tools as a person writes them: `parameters` may be the JSON Schema itself. What else is wrong the service tells. */
async function toolsIn(file: string): Promise<AgentTool[]> {
  const text = await textIn(file, 'tools');
  let tools: unknown;
  try {
    tools = JSON.parse(text);
  } catch (error) {
    throw new CliError(`The tools cannot be read: ${(error as Error).message}`, EXIT_USAGE);
  }
  if (!Array.isArray(tools)) throw new CliError('The tools file must hold a JSON list.', EXIT_USAGE);
  return tools.map((tool: AgentTool | { parameters: object }) =>
    typeof tool?.parameters === 'object' ? { ...tool, parameters: JSON.stringify(tool.parameters) } : tool,
  ) as AgentTool[];
}

async function textIn(file: string, what: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`The ${what} cannot be read: ${(error as Error).message}`, EXIT_USAGE);
  }
}
