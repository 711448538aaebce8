import type { Assumptions } from './model.js';

/** The assumptions of docs/scaling.md. Prices are round figures, not those of a provider. */
export const ASSUMED: Assumptions = {
  talkSeconds: 180,
  utilization: 0.6,
  cachedCalls: 2_000,
  callsOfInstallation: 100_000,
  updatesOfShard: 200,
  coreHour: 0.04,
  gigabyteHour: 0.005,
  retentionDays: 7,
};

/** The numbers of concurrent calls in docs/scaling.md. */
export const CONCURRENT_CALLS = [1_000, 100_000, 1_000_000] as const;
