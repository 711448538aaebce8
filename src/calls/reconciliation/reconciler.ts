import { shuffled } from '../../platform/shuffled.js';
import type { RunState } from '../runs.js';
import { ledgerAccountId as ledgerAccountOf } from '../../kernel/ids.js';
import { createAccountAudits } from './account-audits.js';
import type { Finding } from './findings.js';
import { isFreezing } from './model.js';
import type { LeaseCount, TakenLease } from '../../billing/leases.js';
import { createRecordComparison, STEP_BUDGET_MS } from './record-comparison.js';
import { createUnstartedRequests } from './unstarted-requests.js';
import { createUnfinishedWebhooks } from './unfinished-webhooks.js';
import { trySeveral } from '../../platform/try-each.js';
import { createReconciliationFollowUps, type ReconciliationDeps } from './run-checks.js';

/** Documents of concurrency slots, one for each account and mode, that a round reads. The next round continues. */
const LEASE_DOCUMENTS_PER_ROUND = 1_000;
/** Maximum leases checked in one round. A larger number is sampled at random, so that each is checked eventually. */
const LEASES_PER_ROUND = 1_000;
const CONCURRENT_CHECKS = 8;
/** A call can last no longer than its ring timeout, its maximum duration and this margin together. */
const CALL_MARGIN_SECONDS = 300;

export interface ReconcilerDeps extends ReconciliationDeps {
  /** Reads the state of a workflow. */
  readRun: (workflowId: string) => Promise<RunState>;
  /** Is called for each new mismatch. */
  mismatchFound: (kind: Finding['kind']) => void;
}

export type Reconciler = ReturnType<typeof createReconciler>;

/**
 * The steps of a reconciliation round. They compare records, store mismatches as findings, and change money only
 * through operations of the ledger. Any number of rounds may run at once.
 */
export function createReconciler(deps: ReconcilerDeps) {
  const { ledger, leases, requests, findings, checks, walks, readRun, logger } = deps;

  /** Records a finding. Some kinds also freeze the account, which stops new calls. @returns whether it is new */
  async function report(finding: Finding): Promise<boolean> {
    const { kind, ledgerAccountId, callId, expected, actual } = finding;
    const state = await findings.record(finding);
    if (state === 'resolved') return false;
    if (isFreezing(kind)) await ledger.freeze(ledgerAccountId, `reconciliation: ${kind}`);
    if (state === 'open') return false;
    logger.error({ kind, ledgerAccountId, callId, expected, actual }, 'reconciliation found a mismatch');
    deps.mismatchFound(kind);
    return true;
  }

  const unfinishedWebhooks = createUnfinishedWebhooks(deps);
  const unstartedRequests = createUnstartedRequests(deps);
  const records = createRecordComparison({ ...deps, report, unfinishedWebhooks });

  /** @returns whether the lease was released */
  async function checkLease(lease: TakenLease): Promise<boolean> {
    const { callId, accountId, mode } = lease;
    const run = await readRun(callId);
    const request = run === 'running' ? await requests.find(callId) : null;
    const limitSeconds = request && request.ringTimeoutSeconds + request.maxDurationSeconds + CALL_MARGIN_SECONDS;
    const isTooLong = limitSeconds !== null && Date.now() - lease.acquiredAt.getTime() > limitSeconds * 1_000;
    if (run === 'running' && !isTooLong) return false;
    await leases.release({ accountId, mode, callId });
    logger.warn({ callId, accountId, mode, run }, 'leaked concurrency slot released');
    if (run !== 'running') await checks.add('ending', { callId, ledgerAccountId: ledgerAccountOf(accountId, mode) });
    return true;
  }

  return {
    ...createReconciliationFollowUps({ ...deps, report, ...records, unfinishedWebhooks }),
    ...createAccountAudits({ ...deps, report }),

    /**
     * Compares each account's count of concurrency slots with its leases, and releases the leases of calls whose
     * workflow has ended or that last longer than any call may. A round covers up to 1,000 accounts and modes.
     */
    async releaseLeases(): Promise<{ released: number; found: number }> {
      const oldest = Date.now() - deps.graceSeconds * 1_000;
      const taken: TakenLease[] = [];
      let found = 0;
      const step = await walks.nextLeases(LEASE_DOCUMENTS_PER_ROUND);
      const last = step.ids.at(-1);
      if (last !== undefined) await step.advance(last);
      for (const leaseCount of await leases.slotsByIds(step.ids)) {
        if (leaseCount.count !== leaseCount.taken.length) found += Number(await report(miscounted(leaseCount)));
        for (const lease of leaseCount.taken) if (lease.acquiredAt.getTime() <= oldest) taken.push(lease);
      }
      const selected = shuffled(taken).slice(0, LEASES_PER_ROUND);
      const checked = await trySeveral(selected, CONCURRENT_CHECKS, {
        until: Date.now() + STEP_BUDGET_MS,
        work: checkLease,
        failed: (err, { callId }) => logger.error({ err, callId }, 'concurrency slot could not be checked'),
      });
      return { released: checked.filter(Boolean).length, found };
    },

    /**
     * Compares settlements with calls and calls with settlements, finds old unsettled holds, and ends old requests
     * whose workflow never started.
     * @returns `broken`: records that were skipped
     */
    async compareRecords(): Promise<{ compared: number; found: number; broken: number }> {
      const sums = { compared: 0, found: 0, broken: 0 };
      for (const walk of ['settlements', 'calls', 'holds'] as const) add(sums, await records.compareWalk(walk));
      sums.broken += (await unstartedRequests.sweep()).broken;
      return sums;
    },

    countOpenFindings: async (): Promise<number> => (await findings.list()).length,
  };
}

function add<Name extends string>(sums: Record<Name, number>, more: Readonly<Record<Name, number>>): void {
  for (const name of Object.keys(sums) as Name[]) sums[name] += more[name];
}

function miscounted({ accountId, mode, count, taken }: LeaseCount): Finding {
  return {
    kind: 'places_miscounted',
    ledgerAccountId: ledgerAccountOf(accountId, mode),
    expected: { count: taken.length },
    actual: { count },
  };
}
