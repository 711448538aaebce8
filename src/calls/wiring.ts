import type { UsageAgents } from '../billing/statements/usage-sums.js';
import type { Config } from '../platform/config/config.js';
import type { Logger } from '../platform/telemetry/logger.js';
import { createDialGate, type DialGate } from '../telephony/destinations/dial-gate.js';
import type { CompletedCalls } from '../webhooks/payload.js';
import type { WebhookSecrets } from '../webhooks/signing/secrets.js';
import { createWebhookSender, type WebhookSender } from '../webhooks/sender.js';
import type { CallReader } from '../voice/call-reader.js';
import { createConversationResults, type ConversationResults } from '../voice/results/conversation-results.js';
import { createCallQueries } from './call-queries.js';
import { createCallRequests, type CallRequests } from './call-requests.js';
import type { CallsDatabase } from './database.js';
import { createCallProjection, type CallProjection } from './projection.js';

/** Gives the media server read access to calls. */
export function createMediaCallReader(database: CallsDatabase): CallReader {
  const requests = createCallRequests(database);
  const queries = createCallQueries(database);
  return {
    find: (callId) => requests.find(callId),
    accountOf: (callId) => requests.accountOf(callId),
    isFinal: (callId) => queries.isFinal(callId),
    isErased: (callId) => queries.isErased(callId),
    endings: (callIds) => queries.endings(callIds),
  };
}

/** Gives access to the results of conversations, which media servers store. */
export function createCallResults(database: CallsDatabase): ConversationResults {
  return createConversationResults(database, createMediaCallReader(database));
}

interface EndedCallStores {
  requests: Pick<CallRequests, 'facts'>;
  projection: Pick<CallProjection, 'takeEnded'>;
}

/**
 * Gives the webhook sender read access to ended calls.
 * @param stores the caches of this process; by default, everything is read
 */
export function createCompletedCalls(
  database: CallsDatabase,
  { requests, projection }: EndedCallStores = {
    requests: createCallRequests(database),
    projection: createCallProjection(database),
  },
): CompletedCalls {
  return {
    async find(callId) {
      const [call, facts] = await Promise.all([projection.takeEnded(callId), requests.facts(callId)]);
      // The tombstone of a call that was given up has no account, and no webhook is sent for it. The cache of
      // this process may be older than an erasure, but then an erased delivery keeps this one from being stored.
      if (!call?.accountId || call.erasedAt || !facts?.webhookUrl) return null;
      return { call, webhookUrl: facts.webhookUrl };
    },
  };
}

/** Creates the dial gate, which checks every number before it is dialed. */
export function createCallGate(deps: { config: Config; database: CallsDatabase }): DialGate {
  return createDialGate({ ...deps, requests: createCallRequests(deps.database) });
}

/** Creates the sender of completion webhooks. */
export function createCompletionSender(deps: {
  config: Config;
  database: CallsDatabase;
  logger: Logger;
  /** The caches of what steps have read; by default, everything is read. */
  stores?: EndedCallStores & { webhookSecrets: WebhookSecrets };
}): WebhookSender {
  const { database, stores } = deps;
  return createWebhookSender({ ...deps, ...stores, calls: createCompletedCalls(database, stores) });
}

/** Looks up the agents of calls, for usage reports by agent. */
export function createUsageAgents(database: CallsDatabase): UsageAgents {
  return {
    async agentsOf(callIds) {
      const calls = await database.calls
        .find({ _id: { $in: [...callIds] } }, { agentId: 1 })
        .lean<{ _id: string; agentId?: string }[]>();
      return new Map(calls.map(({ _id, agentId }) => [_id, agentId]));
    },
    async namesOf(agentIds) {
      const agents = await database.agents
        .find({ _id: { $in: [...agentIds] } }, { name: 1 })
        .lean<{ _id: string; name: string }[]>();
      return new Map(agents.map(({ _id, name }) => [_id, name]));
    },
  };
}
