import { IDEMPOTENCY_KEY_RETENTION_MS } from '../placing/idempotency-keys.js';
import type { WalkedCall } from './walks.js';
import type { RunState } from '../runs.js';
import { NOT_FOUND_CHECKS_NEEDED, endClosedCall } from './closed-call.js';
import type { ReconciliationDeps } from './run-checks.js';

/** Minimum age of the requests. At this age the idempotency key has expired, so a repeat cannot start the call. */
const MIN_AGE_MS = IDEMPOTENCY_KEY_RETENTION_MS + 3_600_000;
const BUDGET_MS = 15_000;
const REQUESTS_AT_ONCE = 200;

/**
 * Ends requested calls whose workflow never started, because a process crashed or Temporal was unavailable after the
 * request was stored. Settles their holds and erases the request's personal data and tools.
 */
export function createUnstartedRequests(deps: ReconciliationDeps & { readRun: (callId: string) => Promise<RunState> }) {
  const { walks, checks, readRun, logger } = deps;

  /** @returns false if the call cannot be ended now */
  async function end({ callId, ledgerAccountId }: WalkedCall): Promise<boolean> {
    const run = await readRun(callId);
    if (run === 'running') return false;
    return endClosedCall(deps, {
      callId,
      ledgerAccountId,
      run,
      overdue: true,
      notFoundChecks: NOT_FOUND_CHECKS_NEEDED,
    });
  }

  return {
    /**
     * Ends calls whose workflow never started, for a limited time; the next round continues.
     * @returns numbers of ended calls and skipped records
     */
    async sweep(): Promise<{ ended: number; broken: number }> {
      const until = new Date(Date.now() - MIN_AGE_MS);
      const deadline = Date.now() + BUDGET_MS;
      let [ended, broken, more] = [0, 0, true];
      while (more && Date.now() < deadline) {
        const step = await walks.nextWithoutReadModel(until, REQUESTS_AT_ONCE);
        for (const id of step.broken)
          logger.error({ id, walk: 'requests' }, 'record without a valid call or account id skipped');
        broken += step.broken.length;
        for (const call of step.calls) {
          const isOver = await end(call).catch((err: unknown) => {
            logger.warn({ err, callId: call.callId }, 'unstarted call could not be ended');
            return false;
          });
          ended += Number(isOver);
          if (!isOver) await checks.add('ending', call);
        }
        await step.advance();
        more = step.hasMore;
      }
      if (ended > 0) logger.info({ ended }, 'unstarted calls ended');
      return { ended, broken };
    },
  };
}
