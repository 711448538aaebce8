import type { UsageFigures } from '../../../../billing/statements/schemas.js';
import { TEMPORARY_AGENTS } from '../../../../billing/statements/statement.js';

const DAY_MS = 86_400_000;
/** The service sums up at most 366 days, which touch one more. */
const MOST_DAYS = 367;

/** One row of the usage, with a name to show and a key that is the same in each response. */
export interface UsageOf extends Pick<UsageFigures, 'calls' | 'seconds' | 'cost'> {
  key: string;
  name: string;
}

/** Returns the rows of a response. */
export function rowsOf(data: readonly UsageFigures[]): UsageOf[] {
  return data.map(({ day, agent_id: id, agent_name: name, calls, seconds, cost }) => ({
    key: day ?? id ?? '',
    name: day ?? name ?? (id === TEMPORARY_AGENTS ? 'Temporary agents' : id) ?? '',
    calls,
    seconds,
    cost,
  }));
}

/** Returns rows for all days from the first to the last, because the service leaves out days without calls. */
export function everyDay(rows: readonly UsageOf[]): UsageOf[] {
  const [first, last] = [Date.parse(rows[0]?.key ?? ''), Date.parse(rows.at(-1)?.key ?? '')];
  const count = (last - first) / DAY_MS + 1;
  if (!(count <= MOST_DAYS)) return [...rows];
  const known = new Map(rows.map((row) => [row.key, row]));
  return Array.from({ length: count }, (_, index) => {
    const day = dayAfter(rows[0]?.key ?? '', index);
    return known.get(day) ?? { key: day, name: day, calls: 0, seconds: 0, cost: 0 };
  });
}

/** Returns a day some days after another one, like `2026-12-01`. */
export function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}
