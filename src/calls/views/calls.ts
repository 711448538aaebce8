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
import { deadlineOf, abortSignalOf, withDeadline } from '../../platform/http/deadline.js';
import { findCall } from '../placing/call-status.js';
import { callSummary, callView, transcriptView, type CallRecords } from './call-views.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { listDeadlineOf, pageResponse, positionOf, type Cursors } from '../../platform/http/lists.js';

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

/** Maximum webhook attempts in a call's view. 50 redeliveries with the responses to them would exceed a megabyte. */
const ATTEMPTS_SHOWN = 20;

export type ReadCallRecords = ReturnType<typeof createCallRecordsReader>;

/** Reads the records of a call, with the last attempts to deliver its webhook. */
export function createCallRecordsReader(deps: CallHandlersDeps) {
  return async function readRecords(call: CallDocument): Promise<CallRecords> {
    const callId = call._id;
    const [request, result, carrierEvents, money, attempts] = await Promise.all([
      deps.requests.find(callId),
      deps.results.findHead(callId),
      deps.carrierEvents.list(callId),
      readCallMoney(deps.database, { ledgerAccountId: ledgerAccountId(call.accountId, call.mode), callId }),
      deps.attempts.latest(callId, ATTEMPTS_SHOWN),
    ]);
    return { call, request, result, carrierEvents, money, attempts };
  };
}

/** Creates the handlers that read calls. They find only calls of the requesting account and mode. */
export function createCallReadHandlers(
  deps: CallHandlersDeps & { readRecords: ReadCallRecords },
): RouteHandlers<Pick<typeof callRoutes, 'listCalls' | 'readCall' | 'readTranscript'>> {
  const { config, queries, cursors } = deps;

  return {
    async listCalls({ ctx, principal: { account, mode }, query }) {
      const filter: CallFilter = omitUndefined({
        status: query.status,
        direction: query.direction,
        agentId: query.agent_id,
        externalCallId: query.external_call_id,
        from: query.from,
        to: query.to,
      });
      // A cursor is valid only with the filter it was issued for. It contains a hash of the filter, which may be
      // personal data.
      const narrowed = createHash('sha256').update(JSON.stringify(filter)).digest('base64url');
      const list = `calls ${account._id} ${mode} ${narrowed}`;
      const signal = abortSignalOf(ctx, listDeadlineOf(ctx));
      const pageQuery = { accountId: account._id, mode, filter, signal, ...positionOf(cursors, list, query) };
      return pageResponse(cursors, list, await withDeadline(listDeadlineOf(ctx), queries.page(pageQuery)), callSummary);
    },

    async readCall({ ctx, principal, params: { call_id: callId } }) {
      const call = await withDeadline(deadlineOf(ctx), findCall(queries, principal, callId));
      return callView(await withDeadline(deadlineOf(ctx), deps.readRecords(call)), config.publicBaseUrl);
    },

    async readTranscript({ ctx, principal, params: { call_id: callId } }) {
      const call = await withDeadline(deadlineOf(ctx), findCall(queries, principal, callId));
      const result = call.erasedAt ? null : await withDeadline(deadlineOf(ctx), deps.results.findTurns(callId));
      return transcriptView(callId, result);
    },
  };
}
