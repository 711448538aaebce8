import { duration as clock } from '../../../format';
import { ColumnChart } from '../../charts/column-chart';
import { axisTime, milliseconds, type Column, type Stage } from './latency-shape';

interface ChartProps {
  columns: readonly Column[];
  nameOf: (stage: Stage) => string;
  /** Plays the recording from a response; absent without a recording. */
  onOpen: ((column: Column) => void) | undefined;
}

/** A column per response, of its stages. */
export function LatencyChart({ columns, nameOf, onOpen }: ChartProps) {
  const columnOf = (key: string) => columns.find(({ number }) => String(number) === key);
  return (
    <ColumnChart
      title="Latency by response"
      unit="Responses"
      axis="Number of the response"
      minWidth={30}
      isSeries={true}
      format={axisTime}
      role="button"
      columns={columns.map((column) => ({
        key: String(column.number),
        label: String(column.number),
        words: inWords(column, nameOf),
        parts: column.parts.map(({ stage, fromMs, ms }) => ({ kind: `stage-${stage}`, from: fromMs, size: ms })),
      }))}
      tip={(key) => <Tip column={columnOf(key)} nameOf={nameOf} />}
      onOpen={(key) => {
        const column = columnOf(key);
        if (column !== undefined) onOpen?.(column);
      }}
    />
  );
}

function Tip({ column, nameOf }: { column: Column | undefined; nameOf: (stage: Stage) => string }) {
  if (column === undefined) return null;
  return (
    <>
      <strong>
        {column.number} · {clock(column.atMs / 1_000)} · {milliseconds(column.totalMs)}
      </strong>
      {column.parts.toReversed().map(({ stage, ms }) => (
        <span key={stage}>
          <i class={`swatch stage-${stage}`} /> {nameOf(stage)} <b>{milliseconds(ms)}</b>
        </span>
      ))}
    </>
  );
}

function inWords({ number, atMs, totalMs, parts }: Column, nameOf: (stage: Stage) => string): string {
  const details = parts.map(({ stage, ms }) => `${nameOf(stage)} ${milliseconds(ms)}`).join(', ');
  return `Response ${number} at ${clock(atMs / 1_000)}: ${milliseconds(totalMs)}${details === '' ? '' : `: ${details}`}`;
}
