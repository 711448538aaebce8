interface Bar {
  label: string;
  value: number;
  /** The value as text, shown as a tooltip. */
  text: string;
}

const HEIGHT = 180;
const LEFT = 8;
const BOTTOM = 22;

/** Renders a bar chart. A table below each chart contains the numbers. */
export function BarChart({ bars, title }: { bars: readonly Bar[]; title: string }) {
  const width = 720;
  const most = Math.max(...bars.map(({ value }) => value), 0);
  const step = (width - LEFT) / Math.max(1, bars.length);
  const height = (value: number) => (most === 0 ? 0 : (value / most) * (HEIGHT - BOTTOM - 8));
  const thickness = Math.min(step * 0.7, 60);
  const middle = (index: number) => LEFT + (index + 0.5) * step;
  const every = Math.ceil(bars.length / 8);
  return (
    <svg class="chart" viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={title}>
      <line x1={LEFT} x2={width} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM} />
      {bars.map(({ label, value, text }, index) => (
        <g key={label}>
          <rect
            x={middle(index) - thickness / 2}
            width={thickness}
            y={HEIGHT - BOTTOM - height(value)}
            height={height(value)}
            rx="2"
          >
            <title>{`${label}: ${text}`}</title>
          </rect>
          {index % every === 0 ? (
            <text x={middle(index)} y={HEIGHT - 6}>
              {label}
            </text>
          ) : null}
        </g>
      ))}
    </svg>
  );
}
