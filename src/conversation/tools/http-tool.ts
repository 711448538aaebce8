import { withoutTrailing } from '../../domain/text.js';
import type { EgressAnswer, EgressClient } from '../../egress/client.js';
import { USER_AGENT } from '../../egress/user-agent.js';
import type { HttpTool } from '../../store/models/agent.js';
import type { ToolAnswer } from '../port.js';

const TIMEOUT_MS = 10_000;
/** What a model gets to read of an answer. */
const MAX_ANSWER_BYTES = 8_192;
const MAX_URL_CHARACTERS = 2_048;

/**
 * Asks a customer's server during a call: GET with the arguments in the query, POST with them as a JSON body. Guarded
 * and bounded as webhooks are; of a refusal the model learns the status and nothing else. Never throws.
 */
export async function askServer(
  client: EgressClient,
  tool: HttpTool,
  given: Record<string, unknown>,
  { callId, accountId }: { callId: string; accountId: string },
): Promise<ToolAnswer> {
  const url = tool.method === 'GET' ? withQuery(tool.url, given) : tool.url;
  if (url.length > MAX_URL_CHARACTERS) return { ok: false, error: 'the arguments are too long' };
  const answer = await client.send({
    accountId,
    method: tool.method,
    url,
    headers: {
      accept: 'application/json, text/plain',
      'user-agent': USER_AGENT,
      'x-callwright-call-id': callId,
      ...(tool.method === 'POST' ? { 'content-type': 'application/json' } : {}),
    },
    ...(tool.method === 'POST' ? { body: JSON.stringify(given) } : {}),
    timeoutMs: TIMEOUT_MS,
    keepBytes: MAX_ANSWER_BYTES + 1,
  });
  return answer.succeeded ? { ok: true, result: readable(answer.body ?? '') } : { ok: false, error: faultOf(answer) };
}

function withQuery(url: string, given: Record<string, unknown>): string {
  const parsed = new URL(url);
  const query = new URLSearchParams(parsed.search);
  const fixed = new Set(query.keys());
  for (const [name, value] of Object.entries(given)) {
    // What the customer wrote into the URL is not the model's, or the far end's, to change.
    if (fixed.has(name)) continue;
    query.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  // Once: each change of the URL's own parameters writes the whole URL anew.
  parsed.search = query.toString();
  return parsed.toString();
}

/** JSON as such, where all of it fits; else text without control characters, cut. */
function readable(body: string): unknown {
  if (Buffer.byteLength(body) <= MAX_ANSWER_BYTES) {
    try {
      return JSON.parse(body) as unknown;
    } catch {
      // Text is an answer, too.
    }
  }
  const text = withoutTrailing(body.replace(/[^\P{Cc}\n\t]/gu, ' '), '\uFFFD');
  return Buffer.byteLength(body) > MAX_ANSWER_BYTES ? `${text} (cut off)` : text;
}

function faultOf({ error, httpStatus }: EgressAnswer): string {
  switch (error) {
    case 'timeout':
      return 'the server did not answer in time';
    case 'status':
      return `the server answered with status ${httpStatus}`;
    case 'redirect':
      return 'the server answered with a redirect, which is not followed';
    case 'blocked':
      return 'the server is not publicly reachable';
    case 'response_too_large':
      return 'the answer of the server is too large';
    default:
      return 'the server could not be reached';
  }
}
