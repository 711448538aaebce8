import type { Environment } from './environment.js';
import { retentionVariables } from './retention-variables.js';

/** Days for which each class of data is kept; 0: forever. Recordings have their own settings. */
export interface RetentionDays {
  calls: number;
  transcripts: number;
  deliveries: number;
  carrierEvents: number;
  audit: number;
}

export function retentionSettings(values: Environment): RetentionDays {
  return {
    calls: values.CALL_RETENTION_DAYS ?? 0,
    transcripts: values.TRANSCRIPT_RETENTION_DAYS ?? 0,
    deliveries: values.DELIVERY_RETENTION_DAYS ?? 0,
    carrierEvents: values.CARRIER_EVENT_RETENTION_DAYS ?? 0,
    audit: values.AUDIT_RETENTION_DAYS ?? 0,
  };
}

/** The lowest value of a variable that may not be 0. Temporal keeps no history forever. */
const LEAST: Partial<Record<keyof typeof retentionVariables, string>> = { TEMPORAL_RETENTION_DAYS: '7 or more' };

/** Production requires each of these to be set, so that nothing is kept forever by mistake. */
export const retentionChecks = (Object.keys(retentionVariables) as (keyof typeof retentionVariables)[]).map(
  (variable) => ({
    variable,
    fault: (values: Environment) =>
      values[variable] === undefined
        ? `${variable} must be set in production: the days after which this data is deleted, ${LEAST[variable] ?? 'or 0 to keep it forever'}.`
        : undefined,
  }),
);
