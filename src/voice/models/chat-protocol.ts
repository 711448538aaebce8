/** The requests to OpenAI's `/chat/completions`, with only the fields that the service sends. */
export interface ChatRequest {
  model: string;
  messages: ChatRequestMessage[];
  /** Servers accept one of these two names. */
  max_completion_tokens?: number;
  max_tokens?: number;
  temperature?: number;
  stream?: true;
  stream_options?: { include_usage: true };
  tools?: ChatRequestTool[];
  tool_choice?: 'none';
  response_format?: {
    type: 'json_schema';
    json_schema: { name: string; strict: true; schema: Record<string, unknown> };
  };
}

export type ChatRequestMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string | null; tool_calls?: ChatRequestToolCall[] }
  | { role: 'tool'; tool_call_id: string; content: string };

interface ChatRequestToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

export interface ChatRequestTool {
  type: 'function';
  function: { name: string; description: string; parameters: Record<string, unknown> };
}
