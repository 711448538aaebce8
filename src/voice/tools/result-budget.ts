import { createRefillingBudget } from './refilling-budget.js';

/** Limit of tool results at the start, in bytes of JSON. Each minute adds `BYTES_PER_MINUTE`. */
const BYTES_AT_ONCE = 65_536;
const BYTES_PER_MINUTE = 32_768;

export type ResultBudget = ReturnType<typeof createResultBudget>;

/**
 * Limits the tool results that a model reads in one call. Each further request to the model contains all results again,
 * which the operator pays for, so the limit grows with the length of the call. The unused part never exceeds the limit
 * at the start.
 * @param now current time in ms
 */
export function createResultBudget(now: () => number) {
  const budget = createRefillingBudget({ size: BYTES_AT_ONCE, perSecond: BYTES_PER_MINUTE / 60, now });
  return {
    /** Charges a result to the budget. @returns false, and charges nothing, if the budget is too small */
    takes: (answer: unknown): boolean => budget.takes(Buffer.byteLength(JSON.stringify(answer))),
  };
}
