import { z } from 'zod';
import { usdFromMicros } from '../../kernel/money.js';
import { paging } from '../../platform/http/contract/list.js';
import { utcMoment, type Amounts, type StatementEntry, type UsageRow } from './statement.js';

const usd = (description: string) => z.number().describe(`${description} USD.`);
const micros = (description: string) => z.int().describe(`${description} Micro-USD, exact.`);

export const momentParameter = (name: string, description: string) =>
  z
    .string(`${name} must be given once.`)
    .transform((text, context) => {
      const at = utcMoment(text);
      if (at !== undefined) return at;
      context.addIssue(`${name} must be a UTC time such as 2026-11-01T00:00:00Z, or a day such as 2026-11-01.`);
      return z.NEVER;
    })
    .optional()
    .meta({ ...MOMENT, description, examples: ['2026-11-01T00:00:00Z'] });

/** JSON schema of a date or time, for the OpenAPI document. */
const MOMENT = {
  type: 'string',
  anyOf: [{ format: 'date' }, { format: 'date-time', pattern: 'Z$' }],
} as const;

const format = z
  .enum(['json', 'csv'], 'format must be json or csv.')
  .optional()
  .meta({ description: 'Format of the response. By default the Accept header decides, else JSON.' });

const period = {
  from: momentParameter('from', 'Start of the period (ISO 8601, UTC), inclusive.'),
  to: momentParameter('to', 'End of the period (ISO 8601, UTC), exclusive.'),
};

export const LedgerQuery = z.object({
  ...period,
  ...paging('Not with CSV, which contains the whole period.', 'Not with CSV.'),
  format,
});
export type LedgerQuery = z.output<typeof LedgerQuery>;

export const UsageQuery = z.object({
  group_by: z.enum(['day', 'agent'], 'group_by must be day or agent.').meta({
    description: 'By UTC day or by agent.',
    examples: ['day'],
  }),
  from: period.from.meta({
    ...MOMENT,
    description: 'Start of the period, inclusive. Default: 30 UTC days before to.',
    examples: ['2026-11-01T00:00:00Z'],
  }),
  to: period.to.meta({
    ...MOMENT,
    description: 'End of the period, exclusive; at most 366 days after from. Default: now.',
    examples: ['2026-12-01T00:00:00Z'],
  }),
  format,
});
export type UsageQuery = z.output<typeof UsageQuery>;

const mode = z.enum(['live', 'test']).describe('Mode of the balance; live and test money are separate.');
const currency = z.literal('USD').describe('Currency of all amounts.');

const balanceAmounts = {
  available: usd('Available for calls.'),
  available_micros: micros('Available for calls.'),
  held: usd('Held for calls in progress.'),
  held_micros: micros('Held for calls in progress.'),
  credited: usd('Sum of all top-ups.'),
  credited_micros: micros('Sum of all top-ups.'),
  billed: usd('Sum of the cost of all calls.'),
  billed_micros: micros('Sum of the cost of all calls.'),
};

export const BalanceResponse = z
  .object({ mode, currency, ...balanceAmounts })
  .meta({ id: 'Balance', description: 'credited - billed = available + held, to the micro-dollar.' });
export type BalanceResponse = z.infer<typeof BalanceResponse>;

export const LedgerEntry = z
  .object({
    id: z.string().describe('Permanent identifier of the entry.'),
    type: z
      .enum(['top_up', 'hold', 'refusal', 'settlement', 'correction'])
      .describe('`refusal`: a hold that was not granted; it changes no amount.'),
    at: z.string().meta({ format: 'date-time', description: 'When it was decided.' }),
    call_id: z.string().optional().describe('Identifier of the call. Absent for top-ups.'),
    payment_id: z.string().optional().describe('Payment id, for top-ups.'),
    window: z.int().optional().describe('Index of the hold window of the call, from 0; for holds.'),
    billed_seconds: z.int().optional().describe('Billed seconds, for settlements.'),
    reason: z
      .string()
      .optional()
      .describe(
        'For rejected holds, and holds of only a part of a window: an error code. For corrections: a sentence.',
      ),
    available: usd('Change of the available amount.'),
    available_micros: micros('Change of the available amount.'),
    held: usd('Change of the held amount.'),
    held_micros: micros('Change of the held amount.'),
    credited: usd('Change of the credited amount.'),
    credited_micros: micros('Change of the credited amount.'),
    billed: usd('Change of the billed amount.'),
    billed_micros: micros('Change of the billed amount.'),
  })
  .meta({ id: 'LedgerEntry', description: 'The amounts of all entries add up to the balance.' });
export type LedgerEntry = z.infer<typeof LedgerEntry>;

export const LedgerPage = z
  .object({
    data: z.array(LedgerEntry).describe('Newest first.'),
    has_more: z.boolean().describe('Whether there are more entries after this page.'),
    next_cursor: z.string().optional().describe('Pass it as cursor to read the next page; absent on the last one.'),
  })
  .meta({ id: 'LedgerPage' });
export type LedgerPage = z.infer<typeof LedgerPage>;

const figures = {
  calls: z.int().describe('Billed calls; calls without cost are not counted.'),
  seconds: z.int().describe('Billed seconds.'),
  cost: usd('Settlements minus corrections.'),
  cost_micros: micros('Settlements minus corrections.'),
};

export const UsageFigures = z
  .object({
    day: z.string().optional().describe('UTC day, with group_by=day.'),
    agent_id: z
      .string()
      .optional()
      .describe(
        'With group_by=agent; “temporary” for all temporary agents, “unknown” if the record of the call no longer exists.',
      ),
    agent_name: z.string().optional().describe('Current name of the agent.'),
    ...figures,
  })
  .meta({ id: 'UsageFigures' });
export type UsageFigures = z.infer<typeof UsageFigures>;

export const UsageResponse = z
  .object({
    mode,
    currency,
    group_by: z.enum(['day', 'agent']).describe('Whether each entry of data sums up a UTC day or an agent.'),
    from: z.string().meta({ format: 'date-time', description: 'Start of the period, inclusive.' }),
    to: z.string().meta({ format: 'date-time', description: 'End of the period, exclusive.' }),
    data: z.array(UsageFigures).describe('Days in order; agents by cost, highest first. Only those with usage.'),
    total: z.object(figures).describe('Sums over all entries of data.'),
  })
  .meta({ id: 'Usage' });
export type UsageResponse = z.infer<typeof UsageResponse>;

/** Returns each amount in USD, for people, and in micro-USD, for exact sums. */
export function amountsView(amounts: Amounts) {
  return {
    available: usdFromMicros(amounts.availableMicros),
    available_micros: amounts.availableMicros,
    held: usdFromMicros(amounts.heldMicros),
    held_micros: amounts.heldMicros,
    credited: usdFromMicros(amounts.creditedMicros),
    credited_micros: amounts.creditedMicros,
    billed: usdFromMicros(amounts.billedMicros),
    billed_micros: amounts.billedMicros,
  };
}

export function ledgerEntryView(entry: StatementEntry): LedgerEntry {
  return {
    id: entry.id,
    type: entry.type,
    at: entry.at.toISOString(),
    ...(entry.callId === undefined ? {} : { call_id: entry.callId }),
    ...(entry.paymentId === undefined ? {} : { payment_id: entry.paymentId }),
    ...(entry.window === undefined ? {} : { window: entry.window }),
    ...(entry.billedSeconds === undefined ? {} : { billed_seconds: entry.billedSeconds }),
    ...(entry.reason === undefined ? {} : { reason: entry.reason }),
    ...amountsView(entry),
  };
}

export async function* ledgerEntryViews(entries: AsyncIterable<StatementEntry>): AsyncGenerator<LedgerEntry> {
  for await (const entry of entries) yield ledgerEntryView(entry);
}

export function usageView(groupBy: 'day' | 'agent', row: UsageRow): UsageFigures {
  return {
    ...(groupBy === 'day' ? { day: row.key } : { agent_id: row.key }),
    ...(row.agentName === undefined ? {} : { agent_name: row.agentName }),
    calls: row.calls,
    seconds: row.seconds,
    cost: usdFromMicros(row.costMicros),
    cost_micros: row.costMicros,
  };
}

export function usageTotal(rows: readonly UsageRow[]): UsageResponse['total'] {
  const sum = (of: (row: UsageRow) => number) => rows.reduce((total, row) => total + of(row), 0);
  const costMicros = sum((row) => row.costMicros);
  return {
    calls: sum((row) => row.calls),
    seconds: sum((row) => row.seconds),
    cost: usdFromMicros(costMicros),
    cost_micros: costMicros,
  };
}

/** Columns of the CSV exports, in order. */
export const LEDGER_COLUMNS = Object.keys(LedgerEntry.shape) as (keyof LedgerEntry)[];
export const USAGE_COLUMNS = {
  day: ['day', 'calls', 'seconds', 'cost', 'cost_micros'],
  agent: ['agent_id', 'agent_name', 'calls', 'seconds', 'cost', 'cost_micros'],
} as const satisfies Record<'day' | 'agent', readonly (keyof UsageFigures)[]>;
