import type { Row } from '../../rows/row.js';

/** The size of the scale run. */
export interface ScaleOptions {
  /** The calls that are open at once. */
  calls: number;
  /** How long the soak takes. */
  minutes: number;
}

/** A stage is a row with a time limit that depends on the options. */
export type Stage = (options: ScaleOptions) => Row;

/** The p50 within which a status signal must be handled. */
export const SIGNAL_LIMIT_MS = 100;
