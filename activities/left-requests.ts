import { IDEMPOTENCY_KEYS_KEPT_MS } from '../src/calls/placing/idempotency-keys.js';
import type { MetCall } from '../src/calls/reconciliation/walks.js';
import type { RunState } from '../src/calls/runs.js';
import { DENIALS_NEEDED, endClosedCall } from './closed-call.js';
import type { ReconciliationDeps } from './reconciliation-follow-ups.js';

/** By then, a repeat of the request can no longer start the call. */
const LEFT_AFTER_MS = IDEMPOTENCY_KEYS_KEPT_MS + 3_600_000;
const BUDGET_MS = 15_000;
const REQUESTS_AT_ONCE = 200;

/**
 * Ends requested calls whose workflow never started, because a process crashed or Temporal was unavailable in between.
 * Settles what they hold and erases the request's personal data and tools.
 */
export function createLeftRequests(deps: ReconciliationDeps & { runOf: (callId: string) => Promise<RunState> }) {
  const { walks, checks, runOf, logger } = deps;

  /** @returns false if the call cannot be ended now */
  async function end({ callId, ledgerAccountId }: MetCall): Promise<boolean> {
    const run = await runOf(callId);
    if (run === 'running') return false;
    return endClosedCall(deps, { callId, ledgerAccountId, run, overdue: true, denials: DENIALS_NEEDED });
  }

  return {
    /** Sweeps for a bounded time; the next round continues. @returns numbers of ended calls and skipped records */
    async sweep(): Promise<{ ended: number; broken: number }> {
      const until = new Date(Date.now() - LEFT_AFTER_MS);
      const deadline = Date.now() + BUDGET_MS;
      let [ended, broken, more] = [0, 0, true];
      while (more && Date.now() < deadline) {
        const step = await walks.nextUnread(until, REQUESTS_AT_ONCE);
        for (const id of step.broken) logger.error({ id, walk: 'requests' }, 'a record that names no call was skipped');
        broken += step.broken.length;
        for (const call of step.calls) {
          const isOver = await end(call).catch((err: unknown) => {
            logger.warn({ err, callId: call.callId }, 'a request that was left could not be ended now');
            return false;
          });
          ended += Number(isOver);
          if (!isOver) await checks.add('ending', call);
        }
        await step.done();
        ({ more } = step);
      }
      if (ended > 0) logger.info({ ended }, 'requests that no workflow took up were ended');
      return { ended, broken };
    },
  };
}
