import { createEgressClient } from '../platform/egress/client.js';
import type { EgressFailure } from '../platform/egress/failure.js';
import type { GuardConfig } from '../platform/egress/guard.js';
import type { ResolveName } from '../platform/egress/name-resolver.js';
import type { AttemptHeader } from './model.js';
import { storableHeaders } from './storable-headers.js';

/** Timeout of a whole attempt in ms: DNS lookup, connection, TLS, headers and body. */
export const ATTEMPT_TIMEOUT_MS = 5_000;
const KEPT_RESPONSE_BYTES = 1_024;

export interface PostResult {
  delivered: boolean;
  durationMs: number;
  /** Why the delivery failed. */
  error?: EgressFailure;
  httpStatus?: number;
  /** The response headers in their stored form. */
  responseHeaders?: AttemptHeader[];
  /** How many response headers are not part of it; absent if none. */
  responseHeadersLeftOut?: number;
  /** The first KiB of the response body. */
  responseBody?: string;
}

export interface WebhookClient {
  /** Sends one attempt. Takes at most 5 s and never throws, because the result includes failures. */
  post(webhook: { accountId: string; url: string; body: string; headers: Record<string, string> }): Promise<PostResult>;
}

/**
 * Creates the client for webhooks. Like all requests to customers' servers, webhooks pass the egress guard, follow no
 * redirects, and are limited in time and size.
 */
export function createWebhookClient(deps: { config: GuardConfig; resolve?: ResolveName }): WebhookClient {
  const client = createEgressClient(deps);
  return {
    async post(webhook) {
      const {
        succeeded,
        body: responseBody,
        headers: received,
        ...rest
      } = await client.send({
        ...webhook,
        method: 'POST',
        timeoutMs: ATTEMPT_TIMEOUT_MS,
        keepBytes: KEPT_RESPONSE_BYTES,
      });
      return {
        delivered: succeeded,
        ...rest,
        ...(received === undefined ? {} : storedResponse(storableHeaders(received))),
        ...(responseBody === undefined ? {} : { responseBody }),
      };
    },
  };
}

function storedResponse({ headers, leftOut }: ReturnType<typeof storableHeaders>) {
  return { responseHeaders: headers, ...(leftOut === 0 ? {} : { responseHeadersLeftOut: leftOut }) };
}
