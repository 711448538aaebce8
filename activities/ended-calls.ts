import type { Logger } from '../src/platform/telemetry/logger.js';

/** What operators are told of calls that are over. */
export function createEndedCallActivities({ logger }: { logger: Logger }) {
  return {
    /** Logs how a call ended; a repeated line does no harm. */
    async tellEnd(input: { callId: string; status: string; billedSeconds: number }): Promise<void> {
      logger.info(input, 'call over');
      return Promise.resolve();
    },
  };
}
