import { readCallMoney } from '../../billing/call-money.js';
import type { Principal } from '../../identity/access/principal.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import type { LargeDocuments } from '../../platform/http/routing/large-documents.js';
import type { RawDocument } from '../../platform/mongo/raw-document.js';
import type { CarrierEvents } from '../../telephony/carrier-events.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { WebhookAttempts } from '../../webhooks/attempts.js';
import type { CallQueries, WholeCall } from '../call-queries.js';
import type { CallRequests } from '../call-requests.js';
import type { CallsDatabase } from '../database.js';
import { findWholeCall } from '../placing/call-status.js';
import type { CallRecords } from './call-views.js';

export interface CallReadingDeps {
  database: CallsDatabase;
  queries: CallQueries;
  requests: CallRequests;
  results: ConversationResults;
  carrierEvents: CarrierEvents;
  attempts: WebhookAttempts;
  largeDocuments: LargeDocuments;
}

/** Maximum webhook attempts in a call's view. 50 redeliveries with the responses to them would exceed a megabyte. */
const ATTEMPTS_SHOWN = 20;
/** How long a call may wait in the queue of reads, and with a long transcription in that of decoding. */
export const READ_WAIT_MS = 10_000;
/** Turns in an event about the conversation. Between two events, fewer are added or changed. */
export const LATEST_TURNS = 20;

export type CallReading = ReturnType<typeof createCallReading>;

/** The records of a call, before it is decoded. */
interface StoredCall {
  principal: Principal;
  document: RawDocument<WholeCall>;
  records: FurtherRecords;
}

/** The records of a call besides the call itself, which has the transcription. */
type FurtherRecords = Omit<CallRecords, 'call'>;

/** Creates the reader of a call's records, for responses with the whole call. */
export function createCallReading(deps: CallReadingDeps) {
  async function readFurther({ account, mode }: Principal, callId: string): Promise<FurtherRecords> {
    const [request, result, carrierEvents, money, attempts] = await Promise.all([
      deps.requests.find(callId),
      deps.results.findHead(callId),
      deps.carrierEvents.list(callId),
      readCallMoney(deps.database, { ledgerAccountId: ledgerAccountId(account._id, mode), callId }),
      deps.attempts.latest(callId, ATTEMPTS_SHOWN),
    ]);
    return { request, result, carrierEvents, money, attempts };
  }

  return {
    /** Reads the records of a call except the call itself. Does not check to which account the call belongs. */
    readFurther,

    /**
     * Reads the records of a call, with the last attempts to deliver its webhook. Waits while other calls are read.
     * @param createSignal creates a signal that ends the wait
     * @throws ServiceError CALL_NOT_FOUND; the reason of the signal
     */
    async read(principal: Principal, callId: string, createSignal: () => AbortSignal): Promise<StoredCall> {
      const document = await deps.largeDocuments.read(principal, createSignal, () =>
        findWholeCall(deps.queries, principal, callId),
      );
      return { principal, document, records: await readFurther(principal, callId) };
    },

    /** Reads the last turns of a call in progress, one more than are shown, and the values extracted so far. */
    readLatest: (callId: string) => deps.results.findLatest(callId, LATEST_TURNS + 1),

    /**
     * Converts the records of a call. A call with a long transcription waits in the queue.
     * @param createSignal creates a signal that ends the wait
     * @throws the reason of the signal
     */
    convert<View>(
      { principal, document, records }: StoredCall,
      createSignal: () => AbortSignal,
      convert: (records: CallRecords) => View,
    ): Promise<View> {
      return deps.largeDocuments.convert(principal, createSignal, document, (call) => convert({ call, ...records }));
    },
  };
}
