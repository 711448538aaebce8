import { createEgressClient } from '../platform/egress/client.js';
import type { EgressFailure } from '../platform/egress/failure.js';
import type { GuardConfig } from '../platform/egress/guard.js';
import type { ResolveName } from '../platform/egress/name-resolver.js';

/** All of one attempt: name lookup, connection, TLS, headers and body. */
export const ATTEMPT_TIMEOUT_MS = 5_000;
const KEPT_RESPONSE_BYTES = 1_024;

export interface PostResult {
  delivered: boolean;
  durationMs: number;
  /** Why it was not delivered. */
  error?: EgressFailure;
  httpStatus?: number;
  /** The first KiB of the answer. */
  responseBody?: string;
}

export interface WebhookClient {
  /** Sends one attempt. Never throws and takes 5 s at most: the result says what came of it. */
  post(webhook: { accountId: string; url: string; body: string; headers: Record<string, string> }): Promise<PostResult>;
}

/** Sends webhooks as every request to a customer's server is sent: guarded, without redirects, bounded. */
export function createWebhookClient(deps: { config: GuardConfig; resolve?: ResolveName }): WebhookClient {
  const client = createEgressClient(deps);
  return {
    async post(webhook) {
      const {
        succeeded,
        body: responseBody,
        ...rest
      } = await client.send({
        ...webhook,
        method: 'POST',
        timeoutMs: ATTEMPT_TIMEOUT_MS,
        keepBytes: KEPT_RESPONSE_BYTES,
      });
      return { delivered: succeeded, ...rest, ...(responseBody === undefined ? {} : { responseBody }) };
    },
  };
}
