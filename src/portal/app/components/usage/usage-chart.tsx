import { useLocation } from 'preact-iso';
import { durationInWords, formatDollars } from '../../format';
import { usePortal } from '../../session';
import { ColumnChart } from '../charts/column-chart';
import { dayAfter, everyDay, type UsageOf } from './usage-shape';

const MICROS = 1_000_000;
/** The axis reaches at least a cent. */
const LEAST_MICROS = 10_000;
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** The cost by day or agent. A column leads to its calls. */
export function UsageChart({ rows, by }: { rows: readonly UsageOf[]; by: 'day' | 'agent' }) {
  const { to } = usePortal();
  const { route } = useLocation();
  const isByDay = by === 'day';
  const shown = isByDay ? everyDay(rows) : rows;
  const rowOf = (key: string) => shown.find((row) => row.key === key);
  return (
    <ColumnChart
      title={isByDay ? 'Cost by day' : 'Cost by agent'}
      unit={isByDay ? 'Days' : 'Agents'}
      axis={isByDay ? 'Day (UTC)' : 'Agent, by cost'}
      minWidth={isByDay ? 20 : 56}
      isSeries={isByDay}
      least={LEAST_MICROS}
      format={(micros) => formatDollars(micros / MICROS)}
      role="link"
      columns={shown.map((row) => ({
        key: row.key,
        label: isByDay ? DAY.format(new Date(row.key)) : row.name,
        words: `${row.name}: ${formatDollars(row.cost)}, ${countOf(row.calls)}, ${durationInWords(row.seconds)}`,
        parts: [{ kind: 'chart-bar', from: 0, size: Math.round(row.cost * MICROS) }],
      }))}
      tip={(key) => <Tip row={rowOf(key)} />}
      onOpen={(key) => {
        const ofAgent = key.startsWith('agent_') ? `?agent_id=${key}` : '';
        route(to(`/calls${isByDay ? `?from=${key}&to=${dayAfter(key, 1)}` : ofAgent}`));
      }}
    />
  );
}

const countOf = (calls: number) => (calls === 1 ? '1 call' : `${calls} calls`);

function Tip({ row }: { row: UsageOf | undefined }) {
  if (row === undefined) return null;
  return (
    <>
      <strong>{row.name}</strong>
      <span>
        Cost <b>{formatDollars(row.cost)}</b>
      </span>
      <span>
        Calls <b>{row.calls}</b>
      </span>
      <span>
        Length <b>{durationInWords(row.seconds)}</b>
      </span>
    </>
  );
}
