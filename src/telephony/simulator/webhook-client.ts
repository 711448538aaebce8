import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import { sign } from '../twilio/signature.js';
import type { WebhookTarget } from './instructions/source.js';

/** The response of the customer's server, or why there was none. `ms` is the duration of the request. */
export type WebhookResponse =
  | { ok: true; status: number; contentType: string; body: string; ms: number }
  /** `ct`: the connection could not be established. `rt`: no complete response arrived in time. */
  | { ok: false; cause: 'ct' | 'rt'; error: string; ms: number };

export interface WebhookRequest extends WebhookTarget {
  params: Record<string, string>;
  authToken: string;
  /** Timeouts in ms. */
  connectTimeout: number;
  readTimeout: number;
  totalTimeout: number;
  /** An id that is the same for all retries of one delivery. */
  idempotencyToken?: string;
}

export interface CustomerClient {
  send(webhook: WebhookRequest): Promise<WebhookResponse>;
  close(): Promise<void>;
}

/** Maximum bytes of a response; longer ones are aborted. Twilio's own limit for TwiML is much lower. */
const MAX_BODY_BYTES = 262_144;

const NEVER_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/**
 * Sends requests to the customer's server as Twilio does: signed forms, with Basic credentials only after a challenge.
 */
export function createCustomerClient(): CustomerClient {
  const agents = new Map<number, Agent>();

  function agentFor(connectTimeout: number): Agent {
    const known = agents.get(connectTimeout);
    if (known !== undefined) return known;
    // Use a new connection for each request, because the server may close an idle one just when the request is sent.
    const agent = new Agent({ connect: { timeout: connectTimeout }, maxResponseSize: MAX_BODY_BYTES, pipelining: 0 });
    agents.set(connectTimeout, agent);
    return agent;
  }

  async function post(webhook: WebhookRequest, authorization?: string): Promise<WebhookResponse> {
    const startedAt = performance.now();
    const ms = () => Math.round(performance.now() - startedAt);
    try {
      const wire = wireForm(webhook);
      const response = await request(wire.url, {
        method: webhook.method,
        headers: {
          'user-agent': 'TwilioProxy/1.1',
          accept: '*/*',
          'i-twilio-idempotency-token': webhook.idempotencyToken ?? randomUUID(),
          'x-twilio-signature': wire.signature,
          ...(wire.body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }),
          ...(authorization === undefined ? {} : { authorization }),
        },
        ...(wire.body === undefined ? {} : { body: wire.body }),
        dispatcher: agentFor(webhook.connectTimeout),
        headersTimeout: webhook.readTimeout,
        bodyTimeout: webhook.readTimeout,
        signal: AbortSignal.timeout(webhook.totalTimeout),
      });
      const body = await response.body.text();
      if (authorization === undefined && response.statusCode === 401 && wire.credentials !== undefined) {
        if (/^basic/i.test(String(response.headers['www-authenticate']))) return post(webhook, wire.credentials);
      }
      const contentType = String(response.headers['content-type'] ?? '');
      return { ok: true, status: response.statusCode, contentType, body, ms: ms() };
    } catch (error) {
      const { code, name } = error as { code?: unknown; name?: unknown };
      const reason = typeof code === 'string' ? code : String(name);
      return { ok: false, cause: NEVER_CONNECTED.has(reason) ? 'ct' : 'rt', error: reason, ms: ms() };
    }
  }

  return {
    send: (webhook) => post(webhook),
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
}

/** Signs the configured URL. The request leaves out the URL's fragment and credentials. */
function wireForm(webhook: WebhookRequest) {
  const configured = webhook.url.split('#')[0] ?? '';
  const form = new URLSearchParams(webhook.params).toString();
  const signedUrl =
    webhook.method === 'POST' ? configured : `${configured}${configured.includes('?') ? '&' : '?'}${form}`;
  const url = new URL(signedUrl);
  const credentials =
    url.username === ''
      ? undefined
      : `Basic ${Buffer.from(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`).toString('base64')}`;
  url.username = '';
  url.password = '';
  const params = webhook.method === 'POST' ? webhook.params : {};
  return {
    url,
    credentials,
    signature: sign({ authToken: webhook.authToken, url: signedUrl, params }),
    body: webhook.method === 'POST' ? form : undefined,
  };
}
