import type { Figure, Limit, Summary } from './figure.js';

const HEAD = ['', 'bare', 'ours', 'ratio', 'to reach', 'met'] as const;

/** Formats figures as a Markdown table: medians, with the spread of the rounds in parentheses. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = [HEAD as readonly string[], ...figures.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(3, ...rows.map((cells) => (cells[column] ?? '').length)));
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`;
  const [head = [], ...rest] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)].join('\n');
}

function cellsOf({ name, unit, bare, ours, ratio, limit, met }: Figure): string[] {
  return [
    unit === '' ? name : `${name}, ${unit}`,
    bare === undefined ? '' : textOf(bare),
    textOf(ours),
    ratio === undefined ? '' : textOf(ratio),
    limit === undefined ? '' : limitText(limit),
    met === undefined ? '' : met ? 'yes' : 'no',
  ];
}

function textOf({ median, low, high }: Summary): string {
  const [middle, from, to] = [median, low, high].map(shortNumber);
  return from === to ? String(middle) : `${middle} (${from}–${to})`;
}

function limitText({ of, atLeast, atMost }: Limit): string {
  const value = atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`;
  return of === 'ratio' ? `ratio ${value}` : value;
}

/** Formats a number with three significant digits, but never rounds away whole numbers. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return 'unknown';
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
}
