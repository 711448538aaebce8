import { createHash } from 'node:crypto';
import type { Config } from '../../platform/config/config.js';
import type { callRoutes } from './contract.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import type { CallFilter, CallQueries } from '../call-queries.js';
import { readCallMoney } from '../../billing/call-money.js';
import type { CallRequests } from '../call-requests.js';
import type { CarrierEvents } from '../../telephony/carrier-events.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { CallsDatabase } from '../database.js';
import type { CallDocument } from '../call-model.js';
import type { WebhookAttempts } from '../../webhooks/attempts.js';
import type { RouteHandlers } from '../../identity/access/principal.js';
import { deadlineOf, endOf, within } from '../../platform/http/deadline.js';
import { findCall } from '../placing/call-status.js';
import { callSummary, callView, transcriptView, type CallRecords } from './call-views.js';
import { listDeadlineOf, pageAnswer, positionOf, present, type Cursors } from '../../platform/http/lists.js';

export interface CallHandlersDeps {
  config: Config;
  database: CallsDatabase;
  queries: CallQueries;
  requests: CallRequests;
  results: ConversationResults;
  carrierEvents: CarrierEvents;
  attempts: WebhookAttempts;
  cursors: Cursors;
}

/** Webhook attempts in a call's view. With the receivers' responses, 50 redeliveries would exceed a megabyte. */
const ATTEMPTS_TOLD = 20;

export type ReadCall = ReturnType<typeof createCallReader>;

/** Reads the records of a call, with the last attempts to deliver its webhook. */
export function createCallReader(deps: CallHandlersDeps) {
  return async function readCall(call: CallDocument): Promise<CallRecords> {
    const callId = call._id;
    const [request, result, carrierEvents, money, attempts] = await Promise.all([
      deps.requests.find(callId),
      deps.results.findHead(callId),
      deps.carrierEvents.list(callId),
      readCallMoney(deps.database, { ledgerAccountId: ledgerAccountId(call.accountId, call.mode), callId }),
      deps.attempts.latest(callId, ATTEMPTS_TOLD),
    ]);
    return { call, request, result, carrierEvents, money, attempts };
  };
}

/** Handlers that read calls. They find only calls of the caller's account and mode. */
export function createCallReadHandlers(
  deps: CallHandlersDeps & { readCall: ReadCall },
): RouteHandlers<Pick<typeof callRoutes, 'listCalls' | 'readCall' | 'readTranscript'>> {
  const { config, queries, cursors } = deps;

  return {
    async listCalls({ ctx, principal: { account, mode }, query }) {
      const filter: CallFilter = present({
        status: query.status,
        direction: query.direction,
        agentId: query.agent_id,
        externalCallId: query.external_call_id,
        from: query.from,
        to: query.to,
      });
      // A cursor is valid only with the filter it was issued for. The filter is hashed: it may hold personal data.
      const narrowed = createHash('sha256').update(JSON.stringify(filter)).digest('base64url');
      const list = `calls ${account._id} ${mode} ${narrowed}`;
      const signal = endOf(ctx, listDeadlineOf(ctx));
      const asked = { accountId: account._id, mode, filter, signal, ...positionOf(cursors, list, query) };
      return pageAnswer(cursors, list, await within(listDeadlineOf(ctx), queries.page(asked)), callSummary);
    },

    async readCall({ ctx, principal, params: { call_id: callId } }) {
      const call = await within(deadlineOf(ctx), findCall(queries, principal, callId));
      return callView(await within(deadlineOf(ctx), deps.readCall(call)), config.publicBaseUrl);
    },

    async readTranscript({ ctx, principal, params: { call_id: callId } }) {
      const call = await within(deadlineOf(ctx), findCall(queries, principal, callId));
      const result = call.erasedAt ? null : await within(deadlineOf(ctx), deps.results.findTurns(callId));
      return transcriptView(callId, result);
    },
  };
}
