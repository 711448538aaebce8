import type { ServerResponse } from 'node:http';

/** An error response as OpenAI sends it (`ErrorObject` in `openai` 7.57.0). */
export interface OpenAiRejection {
  status: number;
  error: { message: string; type: string; param: string | null; code: string | null };
}

/** The errors of the fakes, by their status: https://developers.openai.com/api/docs/guides/error-codes. */
const ERRORS: Record<number, OpenAiRejection['error']> = {
  401: {
    message: 'Incorrect API key provided: ll*-key.',
    type: 'invalid_request_error',
    param: null,
    code: 'invalid_api_key',
  },
  429: {
    message: 'Rate limit reached for gpt-6-luna in organization org-a1b2c3 on requests per min (RPM): Limit 500.',
    type: 'requests',
    param: null,
    code: 'rate_limit_exceeded',
  },
};

const SERVER_ERROR: OpenAiRejection['error'] = {
  message: 'The server had an error while processing your request. Sorry about that!',
  type: 'server_error',
  param: null,
  code: null,
};

export const WRONG_KEY: OpenAiRejection = { status: 401, error: ERRORS[401] ?? SERVER_ERROR };

let count = 0;

/** Sends an error as OpenAI does: a JSON body, and the id of the request in a header (`openai` 7.57.0, `core/error.js`). */
export function sendOpenAiError(
  response: ServerResponse,
  { status, error = ERRORS[status] ?? SERVER_ERROR }: { status: number; error?: OpenAiRejection['error'] },
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'x-request-id': `req_${String((count += 1)).padStart(8, '0')}`,
    ...headers,
  });
  response.end(JSON.stringify({ error }));
}
