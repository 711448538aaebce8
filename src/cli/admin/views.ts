import type { DestinationCap } from '../../kernel/destinations/destinations.js';
import { usdFromMicros, type Micros } from '../../kernel/money.js';
import { limitsOf } from '../../identity/accounts/accounts.js';
import { AGENT_FIELD_LIST } from '../../agents/agent-definition.js';
import { modeOfAgent } from '../../agents/agent-mode.js';
import { agentFieldsView } from '../../agents/agent-view.js';
import type { Balance } from '../../billing/ledger/ledger.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import type { AgentDocument } from '../../agents/model.js';
import type { ApiKeyDocument } from '../../identity/api-keys/model.js';
import type { PhoneNumberDocument } from '../../agents/numbers/model.js';
import type { FindingDocument } from '../../calls/reconciliation/model.js';

/** Converts stored documents for command output: snake_case names, no absent fields. */
export function accountRow(account: AccountDocument) {
  // The service's default limits are not known here.
  const limits = limitsOf(account, 'live', undefined);
  const lifted = account.liftedLimits ?? [];
  return present({
    account_id: account._id,
    name: account.name,
    plan: account.plan,
    requests_per_minute: limits.requestsPerMinute,
    concurrent_calls: limits.concurrentCalls,
    daily_spend_cap_usd: lifted.includes('dailySpendCapMicros')
      ? 'none'
      : limits.dailySpendCapMicros === undefined
        ? undefined
        : usdFromMicros(limits.dailySpendCapMicros),
    unanswered_attempts_per_hour: lifted.includes('unansweredAttemptsPerHour')
      ? 'none'
      : account.unansweredAttemptsPerHour,
    live_calls_per_day: lifted.includes('liveCallsPerDay') ? 'none' : account.liveCallsPerDay,
    allowed_country_prefixes: account.allowedCountryPrefixes,
    destination_caps: account.destinationCaps?.map(ruleOf),
    inbound_agent_id: account.inboundAgentId,
    carrier_pool: account.carrierPool,
    created_at: account.createdAt.toISOString(),
  });
}

/** Formats a freeze as one line of text. */
export function freezeLine(freeze: { mode: string; reason: string; at: string; by: string }): string {
  return `${freeze.mode}: ${freeze.reason} (${freeze.by}, ${freeze.at})`;
}

/** Formats a destination rule as written on the command line. */
function ruleOf({ prefix, callsPerHour, callsPerDay, blocked }: DestinationCap): string {
  const parts = [
    ...(blocked === true ? ['block'] : []),
    ...(callsPerHour === undefined ? [] : [`${callsPerHour}/hour`]),
    ...(callsPerDay === undefined ? [] : [`${callsPerDay}/day`]),
  ];
  return [prefix, ...(parts.length === 0 ? ['allow'] : parts)].join(':');
}

export function apiKeyView(key: ApiKeyDocument, now = Date.now()) {
  return present({
    key_id: key.keyId,
    account_id: key.accountId,
    mode: key.mode,
    name: key.name,
    prefix: key.prefix,
    last_four: key.lastFour,
    state: stateOf(key, now),
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString(),
    revoked_at: key.revokedAt?.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString(),
  });
}

/** Default values shown for optional agent fields that are not set. */
const MEANINGS = Object.fromEntries(
  AGENT_FIELD_LIST.flatMap((field) => ('absentMeans' in field ? [[field.stored, field.absentMeans]] : [])),
);

export function agentRow(agent: AgentDocument) {
  return present({
    agent_id: agent._id,
    account_id: agent.accountId,
    mode: modeOfAgent(agent),
    ...agentFieldsView({ ...MEANINGS, ...agent }),
    created_at: agent.createdAt.toISOString(),
    updated_at: agent.updatedAt.toISOString(),
  });
}

export function phoneNumberView(number: PhoneNumberDocument) {
  return present({
    phone_number: number._id,
    account_id: number.accountId,
    agent_id: number.agentId,
    carrier_account: number.carrierAccount,
    created_at: number.createdAt.toISOString(),
  });
}

export function findingView(finding: FindingDocument) {
  return present({
    finding_id: finding._id,
    kind: finding.kind,
    ledger_account_id: finding.ledgerAccountId,
    call_id: finding.callId,
    expected: finding.expected,
    actual: finding.actual,
    first_seen_at: finding.firstSeenAt.toISOString(),
    last_seen_at: finding.lastSeenAt.toISOString(),
    resolved_at: finding.resolvedAt?.toISOString(),
    resolved_by: finding.resolvedBy,
    reason: finding.reason,
  });
}

/** Returns each amount in USD and in exact micro-USD. */
export function amounts(balance: Balance) {
  const both = (name: string, micros: Micros) => ({
    [`${name}_usd`]: usdFromMicros(micros),
    [`${name}_micros`]: micros,
  });
  return {
    ...both('available', balance.availableMicros),
    ...both('held', balance.heldMicros),
    ...both('credited', balance.creditedMicros),
    ...both('billed', balance.billedMicros),
  };
}

function stateOf(key: ApiKeyDocument, now: number): 'active' | 'revoked' | 'expired' {
  if (key.revokedAt) return 'revoked';
  return key.expiresAt && key.expiresAt.getTime() <= now ? 'expired' : 'active';
}

function present(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
