import { keptBy, type StorageMode } from '../../kernel/conversation/storage.js';
import type { VoiceDatabase } from '../../voice/database.js';
import { dropWords } from '../../voice/results/delete-texts.js';
import type { ConversationResultDocument } from '../../voice/results/model.js';
import type { CallRequests } from '../call-requests.js';
import type { ReconciliationChecks } from '../reconciliation/checks.js';

/** A media process writes for some minutes after the end of a call if the database was unavailable. */
const CHECK_AFTER_MS = 10 * 60_000;

/** An ended call, and what its agent stores. */
interface EndedCall {
  callId: string;
  ledgerAccountId: string;
  storage: StorageMode | undefined;
}

export type DroppedWords = ReturnType<typeof createDroppedWords>;

/**
 * Removes what was said from ended calls whose agent keeps no words. The media server does so when it stores the end of a
 * conversation. This covers media processes that died or could not write: what they stored is removed after the call, and once
 * more when they can write no longer.
 */
export function createDroppedWords(deps: {
  requests: Pick<CallRequests, 'find'>;
  database: VoiceDatabase;
  checks: Pick<ReconciliationChecks, 'add'>;
}) {
  const { database, requests, checks } = deps;

  /** Has the words removed later, whatever happens to the workflow of the call. */
  async function dropLater({ storage, ...call }: EndedCall): Promise<void> {
    if (!keptBy(storage).words) await checks.add('words', call, { afterMs: CHECK_AFTER_MS });
  }

  return {
    dropLater,

    /** Removes the words. Call this when all that remains of the conversation is in the read model. Can be repeated. */
    async drop(call: EndedCall, result: ConversationResultDocument | null): Promise<void> {
      const kept = keptBy(call.storage);
      if (kept.words || (result !== null && isClean(result))) return;
      await dropLater(call);
      await dropWords(database, { callId: call.callId, keepsSummary: kept.summary });
    },

    /** Removes the words of a call once more. */
    async dropAgain(callId: string): Promise<void> {
      const kept = keptBy((await requests.find(callId))?.agent.storage);
      if (!kept.words) await dropWords(database, { callId, keepsSummary: kept.summary });
    },
  };
}

/** Whether a media server has stored the end of a conversation without its words. */
function isClean({ endedAt, turns, toolCalls, sessionLogs }: ConversationResultDocument): boolean {
  return endedAt !== undefined && turns.length === 0 && toolCalls === undefined && sessionLogs === undefined;
}
