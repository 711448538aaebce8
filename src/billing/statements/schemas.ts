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
      context.addIssue(`${name} must be a time in UTC such as 2026-11-01T00:00:00Z, or a day such as 2026-11-01.`);
      return z.NEVER;
    })
    .optional()
    .meta({ ...MOMENT, description, examples: ['2026-11-01T00:00:00Z'] });

/** JSON schema of a point in time, for the OpenAPI document. */
const MOMENT = {
  type: 'string',
  anyOf: [{ format: 'date' }, { format: 'date-time', pattern: 'Z$' }],
} as const;

const format = z
  .enum(['json', 'csv'], 'format must be json or csv.')
  .optional()
  .meta({ description: 'Form of the answer. Without it the Accept header decides; JSON is the default.' });

const period = {
  from: momentParameter('from', 'Begin of the period (ISO 8601, UTC), included.'),
  to: momentParameter('to', 'End of the period (ISO 8601, UTC), not included.'),
};

export const LedgerQuery = z.object({
  ...period,
  ...paging('Not with CSV, which holds the whole period.', 'Not with CSV.'),
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
    description: 'Begin of the period, included. Without it, the first of the 30 UTC days that end with to.',
    examples: ['2026-11-01T00:00:00Z'],
  }),
  to: period.to.meta({
    ...MOMENT,
    description: 'End of the period, not included; at most 366 days after from. Without it, now.',
    examples: ['2026-12-01T00:00:00Z'],
  }),
  format,
});
export type UsageQuery = z.output<typeof UsageQuery>;

const mode = z.enum(['live', 'test']).describe('Of the API key: live and test money never meet.');
const currency = z.literal('USD').describe('Currency of all amounts.');

const balanceAmounts = {
  available: usd('What can be held for calls.'),
  available_micros: micros('What can be held for calls.'),
  held: usd('Held for calls that run.'),
  held_micros: micros('Held for calls that run.'),
  credited: usd('All top-ups.'),
  credited_micros: micros('All top-ups.'),
  billed: usd('All that calls have cost.'),
  billed_micros: micros('All that calls have cost.'),
};

export const BalanceAnswer = z
  .object({ mode, currency, ...balanceAmounts })
  .meta({ id: 'Balance', description: 'credited - billed = available + held, to the micro-dollar.' });
export type BalanceAnswer = z.infer<typeof BalanceAnswer>;

export const LedgerEntry = z
  .object({
    id: z.string().describe('Identifies the entry for ever.'),
    type: z
      .enum(['top_up', 'hold', 'refusal', 'settlement', 'correction'])
      .describe('A refusal is a hold that was not granted; it moves nothing.'),
    at: z.string().meta({ format: 'date-time', description: 'When it was decided.' }),
    call_id: z.string().optional().describe('Identifier of the call. Absent for top-ups.'),
    payment_id: z.string().optional().describe('Of a top-up.'),
    window: z.int().optional().describe('Of a hold: which of the call’s hold windows, from 0.'),
    billed_seconds: z.int().optional().describe('Of a settlement.'),
    reason: z
      .string()
      .optional()
      .describe('Of a refusal, and of a hold of a part of its window: an error code. Of a correction: a sentence.'),
    available: usd('Change of what is available.'),
    available_micros: micros('Change of what is available.'),
    held: usd('Change of what is held.'),
    held_micros: micros('Change of what is held.'),
    credited: usd('Change of what was credited.'),
    credited_micros: micros('Change of what was credited.'),
    billed: usd('Change of what was billed.'),
    billed_micros: micros('Change of what was billed.'),
  })
  .meta({ id: 'LedgerEntry', description: 'Over all entries, each amount adds up to that of the balance.' });
export type LedgerEntry = z.infer<typeof LedgerEntry>;

export const LedgerPage = z
  .object({
    data: z.array(LedgerEntry).describe('Newest first.'),
    has_more: z.boolean().describe('Whether there are more entries after this page.'),
    next_cursor: z.string().optional().describe('For the next page; absent on the last one.'),
  })
  .meta({ id: 'LedgerPage' });
export type LedgerPage = z.infer<typeof LedgerPage>;

const figures = {
  calls: z.int().describe('Billed calls; calls that cost nothing are not counted.'),
  seconds: z.int().describe('Billed seconds.'),
  cost: usd('Settlements less corrections.'),
  cost_micros: micros('Settlements less corrections.'),
};

export const UsageFigures = z
  .object({
    day: z.string().optional().describe('UTC day, with group_by=day.'),
    agent_id: z
      .string()
      .optional()
      .describe(
        'With group_by=agent; “temporary” for all temporary agents, “unknown” where the call’s record is gone.',
      ),
    agent_name: z.string().optional().describe('The name the agent has now.'),
    ...figures,
  })
  .meta({ id: 'UsageFigures' });
export type UsageFigures = z.infer<typeof UsageFigures>;

export const UsageAnswer = z
  .object({
    mode,
    currency,
    group_by: z.enum(['day', 'agent']).describe('What each entry of data adds up: a UTC day or an agent.'),
    from: z.string().meta({ format: 'date-time', description: 'Start of the period, inclusive.' }),
    to: z.string().meta({ format: 'date-time', description: 'End of the period, exclusive.' }),
    data: z.array(UsageFigures).describe('Days in order; agents by cost, highest first. Only those with usage.'),
    total: z.object(figures).describe('Sums over all entries of data.'),
  })
  .meta({ id: 'Usage' });
export type UsageAnswer = z.infer<typeof UsageAnswer>;

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

export function usageTotal(rows: readonly UsageRow[]): UsageAnswer['total'] {
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
