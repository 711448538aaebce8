import { useEffect, useRef, useState } from 'preact/hooks';
import { axisValues } from './axis';
import { LEFT, type ChartColumn, type ColumnChartProps } from './chart';

const HEIGHT = 220;
const TOP = 12;
/** Room for the half of the last label that reaches beyond its column. */
const RIGHT = 14;
const BOTTOM = 40;
const PLOT = HEIGHT - TOP - BOTTOM;
const MAX_THICKNESS = 40;
/** Width of a character of a label. */
const CHARACTER = 6.3;

/** Draws the columns that fit. The arrow keys move the focus from one to the next. */
export function ColumnPlot(p: ColumnChartProps & { shown: readonly ChartColumn[]; width: number }) {
  const { shown: columns, width } = p;
  const [active, setActive] = useState<number>();
  const [focused, setFocused] = useState(0);
  const svg = useRef<SVGSVGElement>(null);
  useEffect(() => {
    setActive(undefined);
    setFocused(0);
  }, [columns[0]?.key]);
  const values = valuesOf(p);
  const scale = PLOT / (values.at(-1) ?? 1);
  const step = (width - LEFT - RIGHT) / Math.max(1, columns.length);
  const labels = labelsOf(columns, step, p.isSeries);
  const pointed = active === undefined ? undefined : columns[active];

  function move(event: Event, to: number | undefined): void {
    if (to === undefined) return;
    event.preventDefault();
    setFocused(to);
    svg.current?.querySelectorAll<SVGGElement>('.chart-column')[to]?.focus();
  }

  return (
    <div class="chart" onPointerLeave={() => setActive(undefined)}>
      <svg
        ref={svg}
        width={width}
        height={HEIGHT}
        role="group"
        aria-label={`${p.title}; the arrow keys move from one column to the next`}
        onKeyDown={(event) => move(event, targetOf(event.key, focused, columns.length - 1))}
      >
        <Axis values={values} scale={scale} width={width} format={p.format} title={p.axis} />
        {columns.map((column, index) => (
          <g
            key={column.key}
            class="chart-column"
            role={p.role}
            tabIndex={index === focused ? 0 : -1}
            aria-label={column.words}
            transform={`translate(${LEFT + index * step} 0)`}
            onFocus={() => setActive(index)}
            onBlur={() => setActive(undefined)}
            onPointerEnter={() => setActive(index)}
            onClick={() => p.onOpen?.(column.key)}
            onKeyDown={(event) => openByKey(event, p.role, () => p.onOpen?.(column.key))}
          >
            <Column column={column} label={labels[index] ?? ''} scale={scale} step={step} />
          </g>
        ))}
      </svg>
      {pointed === undefined || active === undefined ? null : (
        <div class="chart-tip" style={placeOf(LEFT + (active + 0.5) * step, width)} aria-hidden="true">
          {p.tip(pointed.key)}
        </div>
      )}
    </div>
  );
}

/** Returns the values of the axis, which is the same on all pages of a chart. */
function valuesOf({ columns, least = 1 }: ColumnChartProps): number[] {
  const ends = columns.flatMap(({ parts }) => parts.map(({ from, size }) => from + size));
  return axisValues(Math.max(least, ...ends));
}

/** Returns the column to which a key leads; undefined for keys that do not move. */
function targetOf(key: string, at: number, last: number): number | undefined {
  const targets: Readonly<Record<string, number>> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last };
  const target = targets[key];
  return target === undefined ? undefined : Math.min(last, Math.max(0, target));
}

function openByKey(event: KeyboardEvent, role: 'button' | 'link', act: () => void): void {
  if (event.key !== 'Enter' && (event.key !== ' ' || role === 'link')) return;
  event.preventDefault();
  act();
}

/** Puts a tooltip beside its column, on the side with more room. */
const placeOf = (x: number, width: number) =>
  x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` };

/** Returns the labels that fit: of a series every second, third … and otherwise all, shortened. */
function labelsOf(columns: readonly ChartColumn[], step: number, isSeries: boolean): string[] {
  const fits = Math.max(1, Math.floor(step / CHARACTER) - 1);
  if (!isSeries) {
    return columns.map(({ label }) => (label.length <= fits ? label : `${label.slice(0, Math.max(1, fits - 1))}…`));
  }
  const longest = Math.max(0, ...columns.map(({ label }) => label.length));
  const every = Math.max(1, Math.ceil(longest / fits));
  // The last one always has a label.
  return columns.map(({ label }, index) => ((columns.length - 1 - index) % every === 0 ? label : ''));
}

function Axis(p: {
  values: readonly number[];
  scale: number;
  width: number;
  format: ColumnChartProps['format'];
  title: string;
}) {
  const most = p.values.at(-1) ?? 0;
  return (
    <g aria-hidden="true">
      {p.values.map((value) => {
        const y = HEIGHT - BOTTOM - value * p.scale;
        return (
          <g key={value}>
            <line x1={LEFT} x2={p.width} y1={y} y2={y} />
            <text x={LEFT - 8} y={y + 4} class="chart-value">
              {p.format(value, most)}
            </text>
          </g>
        );
      })}
      <text x={LEFT} y={HEIGHT - 4}>
        {p.title}
      </text>
    </g>
  );
}

function Column(p: { column: ChartColumn; label: string; scale: number; step: number }) {
  const { scale, step } = p;
  const thickness = Math.min(step * 0.62, MAX_THICKNESS);
  return (
    <>
      <rect class="chart-hit" x={0} y={0} width={step} height={HEIGHT - 16} />
      {p.column.parts
        .filter(({ size }) => size > 0)
        .map(({ kind, from, size }) => (
          <rect
            key={kind}
            class={kind}
            x={(step - thickness) / 2}
            width={thickness}
            y={HEIGHT - BOTTOM - (from + size) * scale}
            height={Math.max(0.5, size * scale - 1)}
          />
        ))}
      <text class="chart-label" x={step / 2} y={HEIGHT - BOTTOM + 15} aria-hidden="true">
        {p.label}
      </text>
    </>
  );
}
