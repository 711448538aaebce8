import type { OpenAiRejection } from './openai-errors';

/** A function tool, in the form of any of OpenAI's protocols. */
interface Tool {
  type?: unknown;
  name?: unknown;
  parameters?: unknown;
}

const invalid = (message: string, param: string, code: string | null): OpenAiRejection => ({
  status: 400,
  error: { message, type: 'invalid_request_error', param, code },
});

/**
 * Returns the error with which OpenAI rejects a list of tools. Messages, parameter and code: github/github-mcp-server#1548
 * (an object without `properties`), FoundationAgents/OpenManus#1162 (something else than a schema). Names: the comment of
 * `FunctionDefinition.name` in `openai` 7.57.0.
 * @param path where the tool is within its entry, such as `.function`
 */
export function toolsFault(tools: readonly (Tool | undefined)[], path = ''): OpenAiRejection | undefined {
  for (const [index, tool] of tools.entries()) {
    const param = `tools[${index}]${path}`;
    if (tool === undefined)
      return invalid(`Missing required parameter: '${param}'.`, param, 'missing_required_parameter');
    const name = typeof tool.name === 'string' ? tool.name : '';
    if (!/^[\w-]{1,64}$/.test(name)) {
      const message = `Invalid '${param}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`;
      return invalid(message, `${param}.name`, 'invalid_value');
    }
    const fault = schemaFault(tool.parameters, []);
    if (fault !== undefined) {
      const message = `Invalid schema for function '${name}': ${fault}`;
      return invalid(message, `${param}.parameters`, 'invalid_function_parameters');
    }
  }
  return undefined;
}

function schemaFault(schema: unknown, context: readonly string[]): string | undefined {
  if (typeof schema === 'boolean' && context.length > 0) return undefined;
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    return `${JSON.stringify(schema ?? null)} is not of type 'object', 'boolean'.`;
  const { type, properties, items } = schema as { type?: unknown; properties?: unknown; items?: unknown };
  const at = `In context=(${context.map((name) => `'${name}'`).join(', ')})`;
  if (context.length === 0 && type !== 'object') {
    return `schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(type ?? 'None')}'.`;
  }
  if (type === 'object' && typeof properties !== 'object') {
    return `${at}, object schema missing properties.`;
  }
  if (type === 'array' && items === undefined) return `${at}, array schema missing items.`;
  const parts: [string, unknown][] = [
    ...Object.entries((properties ?? {}) as Record<string, unknown>),
    ...(items === undefined ? [] : [['items', items] as [string, unknown]]),
  ];
  for (const [name, part] of parts) {
    const fault = schemaFault(part, [...context, name]);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Ids that other servers made are too long for OpenAI: openclaw/openclaw#875, vercel/ai#8132, Portkey-AI/gateway#1062. */
const MAX_ID_CHARACTERS = 40;

export function longId(id: string, param: string, limit: number): OpenAiRejection {
  const message = `Invalid '${param}': string too long. Expected a string with maximum length ${limit}, but got a string with length ${id.length} instead.`;
  return invalid(message, param, 'string_above_max_length');
}

interface ChatMessage {
  role: string;
  content?: unknown;
  tool_call_id?: string;
  tool_calls?: { id: string }[];
}

/**
 * Returns the error of `/chat/completions` for messages in an order that it does not take: each result of a tool follows
 * its call, and each call has a result (miurla/morphic#136; microsoft/promptflow#3130).
 */
export function messagesFault(messages: readonly ChatMessage[]): OpenAiRejection | undefined {
  let open = new Set<string>();
  for (const [index, { role, content, tool_call_id: id = '', tool_calls: calls }] of messages.entries()) {
    const param = `messages.[${index}]`;
    if (role === 'tool') {
      if (open.delete(id)) continue;
      const message = `Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.`;
      return invalid(message, `${param}.role`, null);
    }
    if (open.size > 0) return unanswered(open, param);
    if (calls === undefined && typeof content !== 'string')
      return invalid(`Invalid value for 'content': expected a string, got null.`, `${param}.content`, null);
    open = new Set((calls ?? []).map((call) => call.id));
    const tooLong = [...open].find((id) => id.length > MAX_ID_CHARACTERS);
    if (tooLong !== undefined) return longId(tooLong, `${param}.tool_calls[0].id`, MAX_ID_CHARACTERS);
  }
  return open.size > 0 ? unanswered(open, 'messages') : undefined;
}

function unanswered(open: ReadonlySet<string>, param: string): OpenAiRejection {
  const ids = [...open].join(', ');
  const message = `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids}`;
  return invalid(message, param, null);
}
