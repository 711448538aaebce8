import { useState } from 'preact/hooks';
import type { Latency } from '../../../../../calls/views/schemas.js';
import { duration as clock } from '../../../format';
import { labelOf } from '../../../labels';
import { Table } from '../../pager';
import { LatencyChart } from './latency-chart';
import { columnsOf, milliseconds, quantile, STAGES, type Column, type Stage } from './latency-shape';
import type { Player } from '../player';

const NAMES: Readonly<Record<Stage, string>> = {
  pause: 'Silence that ends the turn',
  stt: labelOf('stt'),
  llm: labelOf('llm'),
  tts: labelOf('tts'),
  own: 'Callwright',
  other: 'Not measured',
};

/** How long the other person waited for each response: key figures, a chart by stage, and the same as a table. */
export function LatencySection(p: {
  latencies: readonly Latency[];
  engine: string | undefined;
  isFinal: boolean;
  player: Player | undefined;
}) {
  const { latencies, player } = p;
  const columns = columnsOf(latencies);
  const used = STAGES.filter((stage) => columns.some(({ parts }) => parts.some((part) => part.stage === stage)));
  const isRealtime = p.engine === 'openai-realtime';
  const nameOf = (stage: Stage) => (isRealtime && stage === 'llm' ? labelOf('realtime') : NAMES[stage]);
  const onOpen = player && ((column: Column) => player.playFrom(column.atMs / 1_000));
  return (
    <section class="card" aria-label="Latency">
      <h2>Latency</h2>
      {columns.length === 0 ? (
        <p class="quiet">
          {p.isFinal
            ? 'No response was measured: nothing was said, or the call was erased.'
            : 'Each response of the agent appears here: how long the other person waited for it, and for which stage.'}
        </p>
      ) : (
        <>
          <Figures columns={columns} />
          <LatencyChart columns={columns} nameOf={nameOf} onOpen={onOpen} />
          <Legend columns={columns} stages={used} nameOf={nameOf} />
          <LatencyTable columns={columns} stages={used} nameOf={nameOf} />
        </>
      )}
    </section>
  );
}

function Figures({ columns }: { columns: readonly Column[] }) {
  const totals = columns.map(({ totalMs }) => totalMs);
  const slowest = columns.reduce((a, b) => (b.totalMs > a.totalMs ? b : a));
  const figures = [
    ['Responses', String(columns.length)],
    ['Median', milliseconds(quantile(totals, 0.5) ?? 0)],
    ['95th percentile', milliseconds(quantile(totals, 0.95) ?? 0)],
    [`Slowest, at ${clock(slowest.atMs / 1_000)}`, milliseconds(slowest.totalMs)],
  ] as const;
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface StagesProps {
  columns: readonly Column[];
  stages: readonly Stage[];
  nameOf: (stage: Stage) => string;
}

const timeOf = ({ parts }: Column, stage: Stage) => parts.find((part) => part.stage === stage)?.ms ?? 0;

function Legend({ columns, stages, nameOf }: StagesProps) {
  return (
    <ul class="legend" aria-label="Stages">
      {stages.map((stage) => (
        <li key={stage}>
          <i class={`swatch stage-${stage}`} aria-hidden="true" /> {nameOf(stage)}{' '}
          <span class="quiet">
            median{' '}
            {milliseconds(
              quantile(
                columns.map((column) => timeOf(column, stage)),
                0.5,
              ) ?? 0,
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

function LatencyTable({ columns, stages, nameOf }: StagesProps) {
  const [isOpen, setOpen] = useState(false);
  const names = stages.map(nameOf);
  return (
    <details class="more" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show as a table</summary>
      {isOpen ? (
        <Table
          label="Latency by response"
          head={['Response', 'At', 'Total', ...names]}
          numeric={['At', 'Total', ...names]}
        >
          {columns.map((column) => (
            <tr key={column.number}>
              <td>{column.number}</td>
              <td class="number">{clock(column.atMs / 1_000)}</td>
              <td class="number">{milliseconds(column.totalMs)}</td>
              {stages.map((stage) => (
                <td key={stage} class="number">
                  {milliseconds(timeOf(column, stage))}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      ) : null}
    </details>
  );
}
