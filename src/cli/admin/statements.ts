import { createUsageAgents } from '../../calls/wiring.js';
import { csvOf } from '../../billing/statements/csv.js';
import {
  LEDGER_COLUMNS,
  ledgerEntryView,
  ledgerEntryViews,
  USAGE_COLUMNS,
  usageTotal,
  usageView,
} from '../../billing/statements/schemas.js';
import { ServiceError } from '../../kernel/errors.js';
import { ledgerAccountId, type Mode } from '../../kernel/ids.js';
import { usagePeriod, type StatementEntry, type UsageGrouping } from '../../billing/statements/statement.js';
import { createStatements } from '../../billing/statements/statements.js';
import type { AdminConnection } from './connect.js';
import { formatUsd, type Output } from '../output.js';
import { LEDGER_TABLE, assertOneFormat } from '../tables.js';
import { findAccount } from './money.js';

/** Default number of ledger entries shown. */
const DEFAULT_LIMIT = 50;
/** Time limit of a usage report, in ms: enough for a year of a large account. */
const USAGE_TIMEOUT_MS = 600_000;

/** Options of `ledger` and `usage`, with commander's attribute names. */
export interface StatementOptions {
  mode: Mode;
  from?: Date;
  to?: Date;
  csv?: boolean;
}

export async function showLedgerOf(
  on: AdminConnection,
  out: Output,
  accountId: string,
  options: StatementOptions & { limit?: number },
) {
  const { mode, from, to, csv, limit } = options;
  assertOneFormat(out, csv);
  if (from && to && from >= to) throw new ServiceError('MISSING_PARAMS', '--from must be before --to.');
  const { _id } = await findAccount(on, accountId);
  const period = { ...(from ? { from } : {}), ...(to ? { to } : {}) };
  const entries = createStatements(on.database, createUsageAgents(on.database)).entries({
    ledgerAccountId: ledgerAccountId(_id, mode),
    ...period,
  });
  if (csv) return out.pieces(csvOf(LEDGER_COLUMNS, ledgerEntryViews(first(limit ?? Infinity, entries))));
  const shown: StatementEntry[] = [];
  for await (const entry of first(limit ?? DEFAULT_LIMIT, entries)) shown.push(entry);
  await out.table(shown.map(ledgerEntryView), LEDGER_TABLE, shown.map(row));
}

export async function showUsageOf(
  on: AdminConnection,
  out: Output,
  accountId: string,
  options: StatementOptions & { groupBy: UsageGrouping },
) {
  const { mode, csv, groupBy, from, to } = options;
  assertOneFormat(out, csv);
  const period = usagePeriod({ ...(from ? { from } : {}), ...(to ? { to } : {}) }, Date.now());
  if (typeof period === 'string') throw new ServiceError('MISSING_PARAMS', period);
  const { _id } = await findAccount(on, accountId);
  const asked = {
    ledgerAccountId: ledgerAccountId(_id, mode),
    ...period,
    groupBy,
    signal: AbortSignal.timeout(USAGE_TIMEOUT_MS),
  };
  const rows = await createStatements(on.database, createUsageAgents(on.database)).usage(asked);
  const views = rows.map((usage) => usageView(groupBy, usage));
  if (csv) return out.pieces(csvOf(USAGE_COLUMNS[groupBy], views));
  const key = groupBy === 'day' ? { day: 'Day' } : { agent_id: 'Agent', agent_name: 'Name' };
  const columns = { ...key, calls: 'Calls', seconds: 'Seconds', usd: 'Cost USD' };
  const lines = views.map((view) => ({ ...view, usd: formatUsd(view.cost_micros) }));
  const { cost_micros: costMicros, ...total } = usageTotal(rows);
  const sum = { day: 'Total', agent_id: 'Total', ...total, usd: formatUsd(costMicros) };
  await out.table(views, columns, [...lines, sum]);
}

function row(entry: StatementEntry) {
  const { availableMicros, heldMicros, billedMicros } = entry;
  return {
    at: entry.at.toISOString(),
    type: entry.type,
    about: entry.callId ?? entry.paymentId,
    available: formatUsd(availableMicros),
    held: formatUsd(heldMicros),
    billed: formatUsd(billedMicros),
  };
}

async function* first<T>(limit: number, entries: AsyncIterable<T>): AsyncGenerator<T> {
  let left = limit;
  if (left === 0) return;
  for await (const entry of entries) {
    yield entry;
    if (--left <= 0) return;
  }
}
