import { useEffect, useState } from 'preact/hooks';
import { LEFT, type ColumnChartProps } from './chart';
import { ColumnPlot } from './column-plot';
import { shownColumns } from './shown-columns';
import { useWidth } from './use-width';

const MOST_COLUMNS = 60;

/**
 * A chart of columns with axes and tooltips. As many columns as fit are shown at once: the last ones of a series first, the
 * first ones of a ranking.
 */
export function ColumnChart(p: ColumnChartProps) {
  const { columns } = p;
  const [frame, width] = useWidth<HTMLDivElement>();
  const [page, setPage] = useState(0);
  const room = Math.max(1, Math.min(MOST_COLUMNS, Math.floor((width - LEFT) / p.minWidth)));
  const pages = Math.ceil(columns.length / room);
  const shown = Math.min(page, pages - 1);
  const { start, end } = shownColumns({ count: columns.length, room, page: shown, isSeries: p.isSeries });
  useEffect(() => setPage(0), [p.title]);
  const turn = (label: string, to: number) => (
    <button type="button" class="button button-small" disabled={to < 0 || to >= pages} onClick={() => setPage(to)}>
      {label}
    </button>
  );
  return (
    <div class="chart-frame" ref={frame}>
      {width === 0 ? null : <ColumnPlot {...p} shown={columns.slice(start, end)} width={width} />}
      {pages <= 1 ? null : (
        <nav class="pager" aria-label={`${p.unit} shown`}>
          {p.isSeries ? turn('Earlier', shown + 1) : turn('Previous', shown - 1)}
          <span class="quiet">
            {p.unit} {start + 1} to {end} of {columns.length}
          </span>
          {p.isSeries ? turn('Later', shown - 1) : turn('Next', shown + 1)}
        </nav>
      )}
    </div>
  );
}
