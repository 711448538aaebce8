import { formatUsd, type Output } from '../output.js';
import { CliError, EXIT_USAGE } from '../run.js';
import { LEDGER_TABLE, assertOneFormat } from '../tables.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { readPages, type PageOptions } from './lists.js';
import type { Service } from './service.js';

/** Options of `ledger` and `usage`. The service validates the times. */
export interface PeriodOptions {
  from?: string;
  to?: string;
  csv?: boolean;
}

export async function showBalance({ client }: Service, out: Output): Promise<void> {
  const balance = await client.get('/balance');
  await out.record('', balance, {
    mode: balance.mode,
    available: `${formatUsd(balance.available_micros)} USD`,
    held: `${formatUsd(balance.held_micros)} USD`,
    credited: `${formatUsd(balance.credited_micros)} USD`,
    billed: `${formatUsd(balance.billed_micros)} USD`,
  });
}

export async function showLedger(
  { client }: Service,
  out: Output,
  options: PeriodOptions & PageOptions,
): Promise<void> {
  const { from, to, csv, ...paging } = options;
  const query = omitUndefined({ from, to });
  if (csv) {
    if (Object.keys(paging).length > 0)
      throw new CliError(
        '--limit, --cursor and --all cannot be combined with --csv, which prints the whole period.',
        EXIT_USAGE,
      );
    assertOneFormat(out, csv);
    return out.pieces(client.csv('/ledger', query));
  }
  const page = await readPages(client, '/ledger', query, paging);
  const rows = page.data.map((entry) => ({
    ...entry,
    about: entry.call_id ?? entry.payment_id,
    available: formatUsd(entry.available_micros),
    held: formatUsd(entry.held_micros),
    billed: formatUsd(entry.billed_micros),
  }));
  await out.page(page, LEDGER_TABLE, rows);
}

export async function showUsage(
  { client }: Service,
  out: Output,
  options: PeriodOptions & { groupBy: 'day' | 'agent' },
): Promise<void> {
  const { from, to, csv, groupBy } = options;
  const query = { group_by: groupBy, ...omitUndefined({ from, to }) };
  if (csv) {
    assertOneFormat(out, csv);
    return out.pieces(client.csv('/usage', query));
  }
  const usage = await client.get('/usage', { query });
  if (out.json) return out.record('', usage);
  const { data, total } = usage;
  const key = groupBy === 'day' ? { day: 'Day' } : { agent_id: 'Agent', agent_name: 'Name' };
  const rows = data.map((row) => ({ ...row, usd: formatUsd(row.cost_micros) }));
  const sum = { day: 'Total', agent_id: 'Total', ...total, usd: formatUsd(total.cost_micros) };
  const columns = { ...key, calls: 'Calls', seconds: 'Seconds', usd: 'Cost USD' };
  await out.table(data, columns, [...rows, sum]);
}
