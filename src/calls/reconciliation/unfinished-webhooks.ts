import type { RunState } from '../runs.js';
import { notifyWorkflowId } from './round.js';
import type { CallRequests } from '../call-requests.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { CallsDatabase } from '../database.js';
import type { AttemptStep } from '../../webhooks/model.js';
import type { CallProjection } from '../projection.js';
import { createWebhookAttempts } from '../../webhooks/attempts.js';
import { MAX_ATTEMPTS, nextDeliveryStep } from '../../webhooks/schedule.js';
import { conversationFields } from '../steps/conversation-fields.js';

interface Deps {
  database: CallsDatabase;
  projection: CallProjection;
  requests: CallRequests;
  results: ConversationResults;
  readRun: (workflowId: string) => Promise<RunState>;
}

/** Finds completion webhooks that were not finished because their workflow was terminated or lost. */
export function createUnfinishedWebhooks({ database, projection, requests, results, readRun }: Deps) {
  const attempts = createWebhookAttempts(database);
  return {
    /** Returns the ended calls whose webhook is not delivered and has attempts left, even if it is being sent now. */
    async findUnfinished(callIds: readonly string[]): Promise<string[]> {
      const wanted = await requests.withWebhook(callIds);
      const rows = await attempts.listOf(wanted, MAX_ATTEMPTS);
      return wanted.filter((callId) => !isFinished(rows.get(callId) ?? []));
    },

    /**
     * Decides whether a workflow must be started for the remaining attempts of a call's webhook. The stored attempts
     * determine what is sent and when, so that there are never more than four.
     * @returns `over`: nothing is left to send; `notify`: attempts are left and no workflow is sending them
     */
    async followUp(callId: string): Promise<{ over: boolean; notify: boolean }> {
      const [request, call, rows] = await Promise.all([
        requests.find(callId),
        projection.find(callId),
        attempts.steps(callId),
      ]);
      // A call that the API gave up has a tombstone instead of a read model. It has no account and causes no webhook.
      if (request?.webhookUrl === undefined || !call?.accountId || isFinished(rows))
        return { over: true, notify: false };
      for (const workflowId of [callId, notifyWorkflowId(callId)]) {
        if ((await readRun(workflowId)) === 'running') return { over: false, notify: false };
      }
      if (call.summary === undefined) {
        const change = { callId, sequence: call.sequence + 1, at: Date.now() };
        await projection.apply(change, conversationFields(await results.find(callId), request.agent.storage));
      }
      return { over: false, notify: true };
    },
  };
}

/** Whether the first delivery is finished. Reconciliation does not look at redeliveries that clients requested. */
function isFinished(rows: readonly AttemptStep[]): boolean {
  const { step } = nextDeliveryStep(rows, 0, Date.now());
  return step === 'delivered' || step === 'exhausted';
}
