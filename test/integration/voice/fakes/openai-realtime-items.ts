/**
 * The items and responses that a client asks for, as strict as the original: names, values and ranges by
 * `RealtimeConversationItemSystemMessage`, `…UserMessage`, `…AssistantMessage`, `…FunctionCallOutput` and
 * `RealtimeResponseCreateParams` of the npm package `openai` 7.57.0.
 */
const CONTENT: Readonly<Record<string, readonly string[]>> = {
  system: ['input_text'],
  user: ['input_text', 'input_audio', 'input_image'],
  assistant: ['output_text', 'output_audio'],
};
const RESPONSE =
  'audio conversation input instructions max_output_tokens metadata output_modalities parallel_tool_calls prompt reasoning tool_choice tools';
const MAX_OUTPUT_TOKENS = 4_096;

type Fields = Record<string, unknown>;

/** An error about an event of the client; undefined if the event is valid. */
type EventFault = { code: string; message: string; param: string | null } | undefined;

/** Says why the provider rejects an item. @param calls the ids of the tool calls of the conversation */
export function itemFault(item: object | undefined, calls: ReadonlySet<string>): EventFault {
  const { type, role, content, call_id: callId, output } = (item ?? {}) as Fields;
  if (type === 'function_call_output') {
    // livekit/agents issues 3344 and 5652.
    if (typeof callId !== 'string' || !/^[a-zA-Z0-9_-]+$/.test(callId)) return invalid('item.call_id', callId);
    if (!calls.has(callId)) {
      return {
        code: 'invalid_tool_call_id',
        message: `Tool call ID '${callId}' not found in conversation.`,
        param: null,
      };
    }
    return typeof output === 'string' ? undefined : invalid('item.output', output);
  }
  if (type !== 'message') return invalid('item.type', type);
  const allowed = CONTENT[String(role)];
  if (allowed === undefined) return invalid('item.role', role);
  if (!Array.isArray(content) || content.length === 0) return invalid('item.content', content);
  const wrong = (content as Fields[]).findIndex(
    (part) => !allowed.includes(String(part['type'])) || typeof part['text'] !== 'string',
  );
  return wrong === -1 ? undefined : invalid(`item.content[${wrong}].type`, (content as Fields[])[wrong]?.['type']);
}

/** Says why the provider rejects the fields of `response.create`. */
export function responseFault(response: object | undefined): EventFault {
  const fields = (response ?? {}) as Fields;
  const unknown = Object.keys(fields).find((name) => !RESPONSE.split(' ').includes(name));
  if (unknown !== undefined) {
    const param = `response.${unknown}`;
    return { code: 'unknown_parameter', message: `Unknown parameter: '${param}'.`, param };
  }
  const { max_output_tokens: limit = 'inf', metadata = null } = fields;
  const isLimit =
    limit === 'inf' || (Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= MAX_OUTPUT_TOKENS);
  if (!isLimit) return invalid('response.max_output_tokens', limit);
  // "Set of 16 key-value pairs … Keys are strings with a maximum length of 64 characters. Values … 512": `Metadata`.
  const pairs = Object.entries(metadata ?? {});
  const fits = pairs.length <= 16 && pairs.every(([key, value]) => key.length <= 64 && String(value).length <= 512);
  return fits ? undefined : invalid('response.metadata', metadata);
}

function invalid(param: string, value: unknown): EventFault {
  return { code: 'invalid_value', message: `Invalid value: ${JSON.stringify(value)}.`, param };
}
