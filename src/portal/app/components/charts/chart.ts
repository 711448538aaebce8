import type { ComponentChildren } from 'preact';

/** One column of a chart. */
export interface ChartColumn {
  key: string;
  /** The text below the column. */
  label: string;
  /** The values in words, for screen readers. The tooltip has the same. */
  words: string;
  /** Sections of the column, each with the class of its color. */
  parts: readonly { kind: string; from: number; size: number }[];
}

export interface ColumnChartProps {
  title: string;
  columns: readonly ChartColumn[];
  /** The plural of a column, such as `Responses`. */
  unit: string;
  /** The text below the axis of the columns. */
  axis: string;
  /** Width of the narrowest column in pixels. */
  minWidth: number;
  /** Whether labels form a series, so that some can be left out. Other labels are shortened to fit. */
  isSeries: boolean;
  /** The axis reaches at least this value; 1 if absent. */
  least?: number;
  /** Formats a value of the axis. All values of an axis have the same unit, so it also receives the largest one. */
  format: (value: number, most: number) => string;
  /** Returns the tooltip of a column. */
  tip: (key: string) => ComponentChildren;
  /** A `link` leads to another page, and a `button` acts on this one. */
  role: 'button' | 'link';
  onOpen: ((key: string) => void) | undefined;
}

/** Room for the values of the axis. */
export const LEFT = 64;
