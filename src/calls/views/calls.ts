import { createHash } from 'node:crypto';
import type { Config } from '../../platform/config/config.js';
import type { callRoutes } from './contract.js';
import type { CallFilter } from '../call-filter.js';
import type { CallQueries } from '../call-queries.js';
import type { ConversationResults } from '../../voice/results/conversation-results.js';
import type { RouteHandlers } from '../../identity/access/principal.js';
import { deadlineOf, abortSignalOf, withDeadline } from '../../platform/http/deadline.js';
import { findCall } from '../placing/call-status.js';
import type { CallReading } from './call-reading.js';
import { callSummary, callView, traceView, transcriptView } from './call-views.js';
import type { LargeDocuments } from '../../platform/http/routing/large-documents.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { listDeadlineOf, pageResponse, positionOf, type Cursors } from '../../platform/http/lists.js';

export interface CallHandlersDeps {
  config: Config;
  queries: CallQueries;
  results: ConversationResults;
  reading: CallReading;
  cursors: Cursors;
  largeDocuments: LargeDocuments;
}

/** Creates the handlers that read calls. They find only calls of the requesting account and mode. */
export function createCallReadHandlers(
  deps: CallHandlersDeps,
): RouteHandlers<Pick<typeof callRoutes, 'listCalls' | 'readCall' | 'readTranscript' | 'readTrace'>> {
  const { config, queries, cursors, reading, largeDocuments } = deps;

  return {
    async listCalls({ ctx, principal: { account, mode }, query }) {
      const filter: CallFilter = omitUndefined({
        status: query.status,
        direction: query.direction,
        agentId: query.agent_id,
        externalCallId: query.external_call_id,
        search: query.search,
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
      const createSignal = () => abortSignalOf(ctx, listDeadlineOf(ctx));
      const deadline = largeDocuments.readDeadlineOf(ctx, principal);
      const stored = await withDeadline(deadline, reading.read(principal, callId, createSignal));
      return reading.convert(stored, createSignal, (records) => callView(records, config.publicBaseUrl));
    },

    async readTranscript({ ctx, principal, params: { call_id: callId } }) {
      const call = await withDeadline(deadlineOf(ctx), findCall(queries, principal, callId));
      if (call.erasedAt) return transcriptView(callId, null);
      const createSignal = () => abortSignalOf(ctx, listDeadlineOf(ctx));
      const found = await withDeadline(
        largeDocuments.readDeadlineOf(ctx, principal),
        largeDocuments.read(principal, createSignal, () => deps.results.findTurns(callId)),
      );
      if (found === null) return transcriptView(callId, null);
      return largeDocuments.convert(principal, createSignal, found, (result) => transcriptView(callId, result));
    },

    async readTrace({ ctx, principal, params: { call_id: callId } }) {
      const call = await withDeadline(deadlineOf(ctx), findCall(queries, principal, callId));
      if (call.erasedAt) return traceView(callId, null);
      const createSignal = () => abortSignalOf(ctx, listDeadlineOf(ctx));
      const found = await withDeadline(
        largeDocuments.readDeadlineOf(ctx, principal),
        largeDocuments.read(principal, createSignal, () => deps.results.findTrace(callId)),
      );
      if (found === null) return traceView(callId, null);
      return largeDocuments.convert(principal, createSignal, found, (result) => traceView(callId, result));
    },
  };
}
