import { withoutTrailing } from '../../kernel/text.js';
import { createHash } from 'node:crypto';
import { ulid } from 'ulid';
import { MAX_RESPONSE_BYTES, type EgressResponse, type EgressClient } from '../../platform/egress/client.js';
import { signatureHeader } from '../../platform/egress/signature.js';
import { USER_AGENT } from '../../platform/egress/user-agent.js';
import type { HttpTool } from '../../agents/model.js';
import type { Mode } from '../../kernel/ids.js';
import type { ToolResult } from '../engines/port.js';
import { withoutSecrets } from './secret-removal.js';
import { parseShallowJson } from './shallow-json.js';

const TIMEOUT_MS = 10_000;
/** Maximum size of a result as JSON. JSON may be longer than the response: `9e20` becomes 900000000000000000000. */
const MAX_ANSWER_BYTES = 8_192;
const MAX_URL_CHARACTERS = 2_048;
/** Reading a response that is longer, and redacting it for storage, may take milliseconds. */
const LONG_BODY = 1_024;

/** The call that uses a tool. */
export interface ToolCaller {
  callId: string;
  accountId: string;
  mode: Mode;
  /** The account's keys for requests of tools in this mode, newest first. Without any, requests are unsigned. */
  keys: readonly Buffer[];
  /** The tool's secret headers, decrypted for its URL. */
  headers: Readonly<Record<string, string>>;
  /** Computes something that takes milliseconds when it is the call's turn. */
  compute: <T>(work: () => T) => Promise<T>;
}

/**
 * Sends a request to a customer's server during a call: GET with the arguments in the query, or POST with a JSON body.
 * The same address checks and limits apply as for webhooks, and the same form of signatures. After an error response the
 * model sees only the status. Never throws.
 */
export async function callToolServer(
  client: EgressClient,
  tool: HttpTool,
  given: Record<string, unknown>,
  caller: ToolCaller,
): Promise<ToolResult> {
  const url = tool.method === 'GET' ? withQuery(tool.url, given) : asSent(new URL(tool.url));
  if (url.length > MAX_URL_CHARACTERS) return { ok: false, error: 'the arguments are too long' };
  const body = tool.method === 'POST' ? JSON.stringify(given) : undefined;
  const answer = await client.send({
    accountId: caller.accountId,
    method: tool.method,
    url,
    headers: {
      ...caller.headers,
      accept: 'application/json, text/plain',
      'user-agent': USER_AGENT,
      'x-callwright-call-id': caller.callId,
      'x-callwright-mode': caller.mode,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...signatureHeaders(caller, url, body),
    },
    ...(body === undefined ? {} : { body }),
    timeoutMs: TIMEOUT_MS,
    // Keep the whole response, so that no cut splits a secret before it is redacted. `readable` shortens the text
    // later.
    keepBytes: MAX_RESPONSE_BYTES,
  });
  if (!answer.succeeded) return { ok: false, error: faultOf(answer) };
  const received = answer.body ?? '';
  const read = () => readable(withoutSecrets(received, Object.values(caller.headers)));
  return { ok: true, result: received.length > LONG_BODY ? await caller.compute(read) : read() };
}

/**
 * The headers of Standard Webhooks. The id contains the call's id and the SHA-256 of the URL. So the signature covers
 * the arguments of a GET, and no receiver can replay a request to another URL of the same account.
 */
function signatureHeaders({ callId, keys }: ToolCaller, url: string, body?: string): Record<string, string> {
  const id = ['tool', callId, ulid(), createHash('sha256').update(url).digest('base64url')].join('_');
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = signatureHeader({ keys, id, timestamp, body: body ?? '' });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    ...(signature === '' ? {} : { 'webhook-signature': signature }),
  };
}

function withQuery(url: string, given: Record<string, unknown>): string {
  const parsed = new URL(url);
  const query = new URLSearchParams(parsed.search);
  const fixed = new Set(query.keys());
  for (const [name, value] of Object.entries(given)) {
    // Neither the model nor the remote party may change parameters that the customer wrote into the URL.
    if (fixed.has(name)) continue;
    query.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  // Assign the query once, because each change through `searchParams` would serialize the whole URL again.
  parsed.search = query.toString();
  return asSent(parsed);
}

/** A URL as its receiver sees it, without the fragment. */
function asSent(url: URL): string {
  const sent = new URL(url);
  sent.hash = '';
  return sent.toString();
}

/** Returns the parsed JSON if it fits into the limits of size and depth. Otherwise returns shortened text without control characters. */
function readable(body: string): unknown {
  try {
    const value = parseShallowJson(body);
    if (bytesOf(value) <= MAX_ANSWER_BYTES) return value;
  } catch {
    // The body is not JSON, so return it as text.
  }
  const bytes = Buffer.from(body);
  const start = bytes.subarray(0, MAX_ANSWER_BYTES).toString('utf8');
  const text = withoutTrailing(start.replace(/[^\P{Cc}\n\t]/gu, ' '), '\uFFFD');
  const kept = cutTo(MAX_ANSWER_BYTES, text);
  return bytes.length <= MAX_ANSWER_BYTES && kept === text ? text : `${kept} (cut off)`;
}

/** The longest beginning of a text that fits into `maxBytes` of JSON, without the quotes. */
function cutTo(maxBytes: number, text: string): string {
  const characters = Array.from(text);
  let bytes = 0;
  const end = characters.findIndex((character) => (bytes += bytesOf(character)) > maxBytes);
  return end < 0 ? text : characters.slice(0, end).join('');
}

/** Size as JSON, without the quotes of a string. */
function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value)) - (typeof value === 'string' ? 2 : 0);
}

function faultOf({ error, httpStatus }: EgressResponse): string {
  switch (error) {
    case 'timeout':
      return 'the server did not respond in time';
    case 'status':
      return `the server responded with status ${httpStatus}`;
    case 'redirect':
      return 'the server responded with a redirect, which is not followed';
    case 'blocked':
      return 'the server is not publicly reachable';
    case 'response_too_large':
      return 'the response of the server is too large';
    default:
      return 'the server could not be reached';
  }
}
