import type { RunState } from '../src/calls/runs.js';
import { notifyWorkflowId } from '../src/calls/reconciliation/round.js';
import type { CallRequests } from '../src/calls/call-requests.js';
import type { ConversationResults } from '../src/voice/results/conversation-results.js';
import type { Database } from '../src/database.js';
import type { WebhookAttemptDocument } from '../src/webhooks/model.js';
import type { CallProjection } from '../src/calls/projection.js';
import { createWebhookAttempts } from '../src/webhooks/attempts.js';
import { MAX_ATTEMPTS, nextStepOf } from '../src/webhooks/schedule.js';
import { conversationFields } from './conversation.js';

interface Deps {
  database: Database;
  projection: CallProjection;
  requests: CallRequests;
  results: ConversationResults;
  runOf: (workflowId: string) => Promise<RunState>;
}

/** Completion webhooks that nobody sends any more: their workflow was terminated, or lost, in the midst of it. */
export function createLeftWebhooks({ database, projection, requests, results, runOf }: Deps) {
  const attempts = createWebhookAttempts(database);
  return {
    /** Which of these final calls have a webhook that is neither delivered nor given up, whoever is at it. */
    async unfinished(callIds: readonly string[]): Promise<string[]> {
      const wanted = await requests.withWebhook(callIds);
      const rows = await attempts.listOf(wanted, MAX_ATTEMPTS);
      return wanted.filter((callId) => !isFinished(rows.get(callId) ?? []));
    },

    /**
     * Looks whether somebody must send the rest of a call's attempts. What is sent and when stays with the rows of the
     * attempts, so that there are never more than four.
     * @returns `over`: there is nothing left to send; `notify`: it is left, and nobody is at it
     */
    async follow(callId: string): Promise<{ over: boolean; notify: boolean }> {
      const [request, call, rows] = await Promise.all([
        requests.find(callId),
        projection.find(callId),
        attempts.list(callId),
      ]);
      // An expired call's tombstone has no account, and nobody is told of it.
      if (request?.webhookUrl === undefined || !call?.accountId || isFinished(rows))
        return { over: true, notify: false };
      for (const workflowId of [callId, notifyWorkflowId(callId)]) {
        if ((await runOf(workflowId)) === 'running') return { over: false, notify: false };
      }
      if (call.summary === undefined) {
        const change = { callId, sequence: call.sequence + 1, at: Date.now() };
        await projection.apply(change, conversationFields(await results.find(callId)));
      }
      return { over: false, notify: true };
    },
  };
}

/** Of the first delivery; what people had sent again is not the reconciler's. */
function isFinished(rows: readonly WebhookAttemptDocument[]): boolean {
  const { step } = nextStepOf(rows, 0, Date.now());
  return step === 'delivered' || step === 'exhausted';
}
