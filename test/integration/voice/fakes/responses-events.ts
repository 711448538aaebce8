// The events of the fake of `/responses`. `test/provider-types` proves that the official SDK can receive them.

type Status = 'in_progress' | 'completed' | 'incomplete' | 'failed';

type Part = { type: 'output_text'; text: string; annotations: [] };

export type FakeItem =
  | { type: 'reasoning'; id: string; summary: [] }
  | { type: 'message'; id: string; role: 'assistant'; status: 'in_progress' | 'completed'; content: Part[] }
  | { type: 'function_call'; id: string; call_id: string; name: string; arguments: string };

interface FakeResponse {
  id: string;
  object: 'response';
  created_at: number;
  model: string;
  status: Status;
  access_programs: null;
  output_text: string;
  output: [];
  error: { code: 'server_error'; message: string } | null;
  incomplete_details: { reason: 'max_output_tokens' } | null;
  instructions: null;
  metadata: null;
  parallel_tool_calls: boolean;
  temperature: number;
  tool_choice: 'auto';
  tools: [];
  top_p: number;
  usage?: typeof USAGE;
}

interface TextPlace {
  output_index: number;
  item_id: string;
  content_index: number;
}

/** An event, without its `sequence_number`. */
export type FakeResponsesEvent =
  | {
      type: `response.${'created' | 'in_progress' | 'completed' | 'incomplete' | 'failed'}`;
      response: FakeResponse;
    }
  | { type: 'response.output_item.added' | 'response.output_item.done'; output_index: number; item: FakeItem }
  | ({ type: 'response.content_part.added' | 'response.content_part.done'; part: Part } & TextPlace)
  | ({ type: 'response.output_text.delta'; delta: string; logprobs: [] } & TextPlace)
  | ({ type: 'response.output_text.done'; text: string; logprobs: [] } & TextPlace)
  | { type: 'response.function_call_arguments.delta'; output_index: number; item_id: string; delta: string }
  | {
      type: 'response.function_call_arguments.done';
      output_index: number;
      item_id: string;
      arguments: string;
    }
  | { type: 'error'; code: string; message: string; param: null };

const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 40, cache_write_tokens: 0 },
  output_tokens: 10,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 110,
};

/** The state of the response in an event. Only the final one has its usage. */
export function responseWith(status: Status): FakeResponse {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_800_000_000,
    model: 'fake',
    status,
    access_programs: null,
    output_text: '',
    output: [],
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: null,
    metadata: null,
    parallel_tool_calls: true,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    ...(status === 'completed' || status === 'incomplete' ? { usage: USAGE } : {}),
  };
}

/** An item of the output. */
export function itemOf(
  item:
    | { type: 'reasoning' }
    | { type: 'message'; text: string }
    | { type: 'function_call'; index: number; name: string; arguments: string },
): FakeItem {
  switch (item.type) {
    case 'reasoning':
      return { type: 'reasoning', id: 'rs_1', summary: [] };
    case 'message': {
      const content: Part[] = item.text === '' ? [] : [{ type: 'output_text', text: item.text, annotations: [] }];
      const status = item.text === '' ? 'in_progress' : 'completed';
      return { type: 'message', id: 'msg_1', role: 'assistant', status, content };
    }
    default: {
      const { index, name, arguments: given } = item;
      return { type: 'function_call', id: `fc_${index + 1}`, call_id: `call_${index + 1}`, name, arguments: given };
    }
  }
}
