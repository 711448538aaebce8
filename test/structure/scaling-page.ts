import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { scalingTables, withTables } from '../bench/scaling/tables.js';
import type { ScalingFigures } from '../bench/scaling/figures.js';
import { ROOT } from './sources.js';

export const SCALING_PAGE = 'docs/scaling.md';
const FIGURES = 'test/bench/scaling/figures.json';

/** The measured figures that the model starts from. */
export function readScalingFigures(): ScalingFigures {
  return JSON.parse(readFileSync(join(ROOT, FIGURES), 'utf8')) as ScalingFigures;
}

/** Returns the page on scaling with its tables, which the model computes from the measured figures. */
export function scalingPage(): string {
  return withTables(readFileSync(join(ROOT, SCALING_PAGE), 'utf8'), scalingTables(readScalingFigures()));
}
