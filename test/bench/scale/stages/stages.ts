import type { Row } from '../../rows/row.js';
import { answeredCall } from './answered-call.js';
import { load } from './load.js';
import { openCalls } from './open-calls.js';
import type { ScaleOptions } from './stage.js';
import { twoWorkers } from './two-workers.js';

/** The names of the stages, in their order. */
export const STAGE_NAMES = ['answered-call', 'open-calls', 'load', 'two-workers'] as const;

/** Returns the stages of the scale run, as rows of the benchmark. */
export function scaleRows(options: ScaleOptions): Row[] {
  return [answeredCall, openCalls, load, twoWorkers].map((stage) => stage(options));
}
