import type { CallRequests } from '../call-requests.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { IdempotencyKeys } from '../placing/idempotency-keys.js';
import type { CallProjection } from '../projection.js';
import type { Recordings } from '../../voice/recordings/recordings.js';
import type { WebhookAttempts } from '../../webhooks/attempts.js';
import type { WebhookDeliveries } from '../../webhooks/deliveries.js';

interface Deps {
  projection: CallProjection;
  requests: CallRequests;
  results: ConversationResults;
  recordings: Recordings;
  deliveries: WebhookDeliveries;
  attempts: WebhookAttempts;
  idempotencyKeys: IdempotencyKeys;
}

/** Erases a call's personal data. Ledger entries contain none and stay. */
export function createCallErasure(deps: Deps) {
  return {
    /**
     * Erases the data everywhere; a repeat completes what an attempt left. The read model is last, so that a call marked
     * as erased has no data left anywhere. Recordings are just before it: their store may be unavailable, which must not
     * delay the rest, and once they are deleted, no stream may begin another one.
     */
    async eraseCall({ callId }: { callId: string }): Promise<void> {
      const now = new Date();
      await deps.requests.erase(callId);
      await deps.results.delete(callId);
      await deps.deliveries.erase(callId, now);
      await deps.attempts.erase(callId);
      await deps.idempotencyKeys.erase(callId);
      await deps.recordings.delete(callId);
      await deps.projection.erase(callId, now);
    },
  };
}
