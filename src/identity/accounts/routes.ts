import type { Account, AuditEntry } from './schemas.js';
import type { accountRoutes, auditRoutes } from './contract.js';
import type { Mode } from '../../kernel/ids.js';
import { usdFromMicros } from '../../kernel/money.js';
import type { Config } from '../../platform/config/config.js';
import { limitsOf, type Accounts } from './accounts.js';
import type { AuditLog } from '../access/audit-log.js';
import type { AccountDocument } from './model.js';
import type { AuditEntryDocument } from '../access/audit-entry-model.js';
import type { RouteHandlers } from '../access/principal.js';
import { deadlineOf, abortSignalOf, withDeadline } from '../../platform/http/deadline.js';
import { respond } from '../../platform/http/routing/response.js';
import { listDeadlineOf, pageResponse, positionOf, type Cursors } from '../../platform/http/lists.js';
import { createWrites, type OnWrite } from '../../platform/mongo/writes.js';

/** Sets the agent of an account's inbound calls. Implemented by the agents domain. */
export interface InboundAgents {
  set(accountId: string, agentId: string | null, onWrite: OnWrite): Promise<AccountDocument>;
}

export interface AccountHandlersDeps {
  accounts: Accounts;
  config: Config;
  auditLog: AuditLog;
  cursors: Cursors;
  inboundAgents: InboundAgents;
}

/** Handlers of the routes for the requesting account and its audit log. */
export function createAccountHandlers(
  deps: AccountHandlersDeps,
): RouteHandlers<typeof accountRoutes & typeof auditRoutes> {
  const { config, accounts, auditLog, cursors, inboundAgents } = deps;
  return {
    async readAccount({ ctx, principal: { account, mode } }) {
      return accountView(await withDeadline(deadlineOf(ctx), accounts.current(account)), mode, config);
    },

    async updateAccount({ ctx, principal, body: { name, inbound_agent_id: agentId } }) {
      const writes = createWrites();
      let account = await withDeadline(deadlineOf(ctx), accounts.current(principal.account));
      // Make the change that can be rejected first, so that a rejection leaves nothing changed.
      if (agentId !== undefined) {
        account = await withDeadline(deadlineOf(ctx), inboundAgents.set(account._id, agentId, writes.add));
      }
      if (name !== undefined) {
        account = await withDeadline(deadlineOf(ctx), accounts.rename(account._id, name, writes.add));
      }
      return respond(accountView(account, principal.mode, config), { unchanged: writes.isNone() });
    },

    /** With a test key, returns changes of test mode only. Members and live keys read all changes. */
    async readAuditLog({ ctx, principal: { account, mode, actor }, query }) {
      const isTestKey = actor.kind === 'key' && mode === 'test';
      const list = `audit ${account._id}${isTestKey ? ' test' : ''}`;
      const filter = { accountId: account._id, ...(isTestKey ? { mode } : {}) };
      const asked = { ...filter, ...positionOf(cursors, list, query), signal: abortSignalOf(ctx, listDeadlineOf(ctx)) };
      return pageResponse(cursors, list, await withDeadline(listDeadlineOf(ctx), auditLog.page(asked)), auditView);
    },
  };
}

export function accountView(account: AccountDocument, mode: Mode, config: Config): Account {
  const { liveLimits, testSpendCapMicros } = config.calls;
  const limits = limitsOf(account, mode, liveLimits, testSpendCapMicros);
  const { requestsPerMinute, concurrentCalls, dailySpendCapMicros } = limits;
  return {
    account_id: account._id,
    name: account.name,
    plan: account.plan,
    mode,
    ...(account.inboundAgentId === undefined ? {} : { inbound_agent_id: account.inboundAgentId }),
    requests_per_minute: requestsPerMinute,
    concurrent_calls: concurrentCalls,
    ...(dailySpendCapMicros === undefined ? {} : { daily_spend_cap: usdFromMicros(dailySpendCapMicros) }),
    created_at: account.createdAt.toISOString(),
  };
}

function auditView(entry: AuditEntryDocument): AuditEntry {
  return {
    id: entry._id,
    at: entry.createdAt.toISOString(),
    mode: entry.mode ?? 'live',
    actor: { kind: entry.actorKind, id: entry.actorId, name: entry.actorName },
    action: entry.action,
    ...(entry.target === undefined ? {} : { target: entry.target }),
    request_id: entry.requestId,
    ...(entry.unconfirmed ? { unconfirmed: true as const } : {}),
  };
}
