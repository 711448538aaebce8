import { DefaultLogger } from '@temporalio/worker';
import { callIdOfWorkflow } from '../src/calls/follow-ups.js';
import type { Logger } from '../src/platform/telemetry/logger.js';

/** Details of a log line of the SDK, with the names of its `activityLogAttributes` and `workflowLogAttributes`. */
interface SdkMeta {
  error?: unknown;
  workflowId?: string;
  workflowType?: string;
  activityType?: string;
  attempt?: number;
}

/** Passes warnings and errors of Temporal's SDK to our log, such as failures of activities. */
export function createSdkLogger(logger: Logger): DefaultLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }) => {
    const { error, workflowId, workflowType, activityType, attempt } = (meta ?? {}) as SdkMeta;
    const callId = workflowId === undefined ? undefined : callIdOfWorkflow(workflowId);
    const details = { err: error, callId, workflowId, workflowType, activityType, attempt };
    logger[level === 'ERROR' ? 'error' : 'warn'](details, message);
  });
}
