import { readFile } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import { AGENT_FIELD_LIST, type AgentFieldName, type OptionalField, type ValueOf } from '../agents/agent-definition.js';
import type { Pronunciation } from '../kernel/conversation/conversation-settings.js';
import { parseNumber, parseWholeNumber } from './arguments.js';
import { CliError, EXIT_USAGE } from './run.js';

/** Options of `agents create` and `agents update`, with commander's attribute names. */
export type AgentOptions = Readonly<Record<string, unknown>>;

/** Agent fields by their public names; null removes an optional one. */
type AgentValues = { [F in AgentFieldName]?: ValueOf<F> };
type AgentValueChanges = AgentValues & { [F in OptionalField]?: ValueOf<F> | null };

type Field = (typeof AGENT_FIELD_LIST)[number];

/** Adds an option for every agent field except the name. Only new agents require a name, so callers add that option. */
export function withAgentFields(command: Command): Command {
  for (const option of AGENT_FIELD_LIST.filter(({ name }) => name !== 'name').flatMap(optionsOf)) {
    command.addOption(option);
  }
  return command;
}

export function clearOption(): Option {
  const names = AGENT_FIELD_LIST.flatMap(({ option }) => option.clear ?? []);
  return new Option('--clear <field...>', 'remove an optional field').choices(names);
}

/** The option name of each agent field, without the dashes. */
export const AGENT_OPTION_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  AGENT_FIELD_LIST.map(({ name, option }) => [name, option.name]),
);

/**
 * Reads the agent fields from the options. Some options name a file that contains the value.
 * @throws CliError when a file cannot be read
 */
export async function agentValues(options: AgentOptions): Promise<AgentValues> {
  const values: Record<string, unknown> = {};
  for (const field of AGENT_FIELD_LIST) {
    const value = await valueOf(field, options);
    if (value !== undefined) values[field.name] = value;
  }
  return values;
}

/**
 * Reads the agent fields for an update. Fields listed in `--clear` become null.
 * @throws CliError when nothing changes
 */
export async function agentChanges({ clear = [], ...options }: AgentOptions): Promise<AgentValueChanges> {
  const cleared = AGENT_FIELD_LIST.filter(({ option }) => option.clear && (clear as string[]).includes(option.clear));
  const changes = { ...(await agentValues(options)), ...Object.fromEntries(cleared.map(({ name }) => [name, null])) };
  if (Object.keys(changes).length === 0) throw new CliError('Give at least one option to change.', EXIT_USAGE);
  return changes;
}

function optionsOf(field: Field): Option[] {
  const { name, value, about, opposite, file } = field.option;
  const option = new Option(`--${name}${value === undefined ? '' : ` ${value}`}`, about);
  if (field.kind === 'choice' || field.kind === 'choices') option.choices(field.of);
  if (field.kind === 'seconds') option.argParser(parseWholeNumber);
  if (field.kind === 'number') option.argParser(field.whole === true ? parseWholeNumber : parseNumber);
  const others = [
    ...(opposite === undefined ? [] : [new Option(`--no-${name}`, opposite)]),
    ...(file === undefined ? [] : [new Option(`--${file.name} <file>`, file.about).conflicts(option.attributeName())]),
  ];
  return [option, ...others];
}

async function valueOf(field: Field, options: AgentOptions): Promise<unknown> {
  const { name, file } = field.option;
  const given = options[attributeOf(name)];
  const fileGiven = file && options[attributeOf(file.name)];
  if (field.kind === 'tools') return typeof given === 'string' ? toolsIn(given) : undefined;
  if (field.kind === 'pronunciations') return Array.isArray(given) ? given.map(pronunciationIn) : undefined;
  return typeof fileGiven === 'string' ? textIn(fileGiven, field.name) : given;
}

/** @throws CliError if it is not written as `text=spoken` */
function pronunciationIn(given: string): Pronunciation {
  const [, text, spoken] = /^([^=]+)=(.+)$/s.exec(given) ?? [];
  if (text !== undefined && spoken !== undefined) return { text, spoken };
  throw new CliError(`--pronunciation must be like Nginx="engine X", not ${given}.`, EXIT_USAGE);
}

function attributeOf(name: string): string {
  return new Option(`--${name}`).attributeName();
}

/**
 * Reads tools from a JSON file. In the file, `parameters` may be a JSON Schema object. The service validates the rest.
 */
async function toolsIn(file: string): Promise<unknown[]> {
  const tools = await jsonIn(file, { what: 'tools', option: '--tools-file' });
  if (!Array.isArray(tools)) throw new CliError('--tools-file must contain a JSON list.', EXIT_USAGE);
  return tools.map(asGiven);
}

/** Converts a tool to its form in a request, where `parameters` is a text. */
function asGiven(tool: { parameters?: unknown } | null): unknown {
  return typeof tool?.parameters === 'object' ? { ...tool, parameters: JSON.stringify(tool.parameters) } : tool;
}

/**
 * Reads a draft of an agent from a JSON file. In the file, the `parameters` of tools may be JSON Schema objects. The
 * service validates the rest.
 * @throws CliError when the file cannot be read or contains no object
 */
export async function draftIn(file: string): Promise<Record<string, unknown>> {
  const draft = await jsonIn(file, { what: 'draft', option: '--draft-file' });
  if (typeof draft !== 'object' || draft === null || Array.isArray(draft)) {
    throw new CliError('--draft-file must contain a JSON object.', EXIT_USAGE);
  }
  const { tools } = draft as { tools?: unknown };
  return { ...draft, ...(Array.isArray(tools) ? { tools: tools.map(asGiven) } : {}) };
}

async function jsonIn(file: string, { what, option }: { what: string; option: string }): Promise<unknown> {
  const text = await textIn(file, what);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError(`${option} cannot be read: ${(error as Error).message}`, EXIT_USAGE);
  }
}

async function textIn(file: string, what: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`The ${what} cannot be read: ${(error as Error).message}`, EXIT_USAGE);
  }
}
