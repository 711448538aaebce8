import type { RetentionDays } from '../../platform/config/retention-settings.js';
import { deleteTexts } from '../../voice/results/delete-texts.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { Recordings } from '../../voice/recordings/recordings.js';
import { createCarrierEvents } from '../../telephony/carrier-events.js';
import type { WebhookAttempts } from '../../webhooks/attempts.js';
import type { WebhookDeliveries } from '../../webhooks/deliveries.js';
import type { CallsDatabase } from '../database.js';
import type { CallProjection } from '../projection.js';

/** Classes of data that belong to a call. */
export type CallClass = Exclude<keyof RetentionDays, 'audit'>;

const EXPIRED_SUMMARY = 'The transcript of this call was deleted after its retention.';

export interface ExpiryDeps {
  database: CallsDatabase;
  projection: CallProjection;
  results: ConversationResults;
  recordings: Recordings;
  deliveries: WebhookDeliveries;
  attempts: WebhookAttempts;
}

/** Deletes data of a call. The signal ends requests to the store of recordings. */
type Expire = (callId: string, signal: AbortSignal) => Promise<void>;

/** Deletes one class of a call's data. Each can be repeated, and completes what an attempt left. */
export function createCallExpiry(deps: ExpiryDeps): Record<CallClass, Expire> {
  const { database, projection, results, recordings, deliveries, attempts } = deps;
  const carrierEvents = createCarrierEvents(database);

  /** The delivery stays without its data, so that the webhook is not sent again. */
  async function expireDelivery(callId: string): Promise<void> {
    if ((await deliveries.findHead(callId)) !== null) await deliveries.erase(callId, new Date());
    await attempts.erase(callId);
  }

  async function expireCarrierEvents(callId: string): Promise<void> {
    await carrierEvents.remove(callId);
  }

  /** A call whose read model is lost must not begin again, either. A rejected one, whose request is erased, never does. */
  async function leaveTombstone(callId: string): Promise<void> {
    if ((await projection.find(callId)) !== null) return projection.expire(callId);
    await database.callSearch.deleteOne({ _id: callId });
    if ((await database.callRequests.exists({ _id: callId, toPhoneNumber: '' })) === null) {
      await projection.giveUp(callId);
    }
  }

  return {
    deliveries: expireDelivery,
    carrierEvents: expireCarrierEvents,

    async transcripts(callId) {
      await expireDelivery(callId);
      await deleteTexts(database, callId);
      const call = await projection.find(callId);
      if (call === null) await database.callSearch.deleteOne({ _id: callId });
      if (!call?.accountId || call.erasedAt || call.textsExpiredAt) return;
      const change = { callId, sequence: call.sequence + 1, at: call.updatedAt.getTime() };
      const texts = { transcription: '', outputParameters: '{}', summary: EXPIRED_SUMMARY };
      await projection.apply(change, { ...texts, textsExpiredAt: new Date() });
    },

    /** Calls are kept for days at least. The request is last, because the sweep finds calls by it. */
    async calls(callId, signal) {
      await results.delete(callId);
      await recordings.delete(callId, { signal, endedLongAgo: true });
      await expireCarrierEvents(callId);
      await leaveTombstone(callId);
      await database.webhookAttempts.deleteMany({ callId });
      await database.webhookDeliveries.deleteOne({ _id: callId });
      await database.callRequests.deleteOne({ _id: callId });
    },
  };
}
