import { omitUndefined } from '../kernel/omit-undefined.js';
import type { WebhookAttemptDocument } from './model.js';
import type { WebhookAttempt, WebhookAttemptDetail } from './schemas.js';

/** Converts a stored attempt, with its headers. */
export function attemptDetailView(attempt: WebhookAttemptDocument): WebhookAttemptDetail {
  const { requestHeaders, responseHeaders, responseHeadersLeftOut } = attempt;
  return {
    ...attemptView(attempt),
    ...omitUndefined({
      request_headers: requestHeaders,
      response_headers: responseHeaders,
      response_headers_left_out: responseHeadersLeftOut,
    }),
  };
}

export function attemptView(attempt: WebhookAttemptDocument): WebhookAttempt {
  return {
    number: attempt.number,
    redelivery: attempt.redelivery ?? 0,
    started_at: attempt.startedAt.toISOString(),
    ...omitUndefined({
      finished_at: attempt.finishedAt?.toISOString(),
      outcome: attempt.outcome,
      http_status: attempt.httpStatus,
      error: attempt.error,
      duration_ms: attempt.durationMs,
      response_body: attempt.responseBody,
    }),
  };
}
