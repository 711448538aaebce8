import { isDeepStrictEqual } from 'node:util';
import { Context } from '@temporalio/activity';
import { shuffled } from '../src/platform/shuffled.js';
import { readRunState, type RunState } from '../src/calls/runs.js';
import { ledgerAccountId as ledgerAccountOf } from '../src/kernel/ids.js';
import type { Finding } from '../src/calls/reconciliation/findings.js';
import { isFreezing } from '../src/calls/reconciliation/model.js';
import type { LedgerAudit } from '../src/billing/ledger/ledger.js';
import type { LeaseCount, TakenLease } from '../src/billing/leases.js';
import { createRecordComparison, STEP_BUDGET_MS } from './record-comparison.js';
import { createUnstartedRequests } from './unstarted-requests.js';
import { createUnfinishedWebhooks } from './unfinished-webhooks.js';
import { tryEach } from '../src/platform/try-each.js';
import { withHeartbeats } from './with-heartbeats.js';
import { createReconciliationFollowUps, type ReconciliationDeps } from './reconciliation-follow-ups.js';

const ACCOUNTS_AT_ONCE = 100;
/** Maximum leases checked in one round. A larger number is sampled at random, so that each is checked eventually. */
const LEASES_PER_ROUND = 1_000;
const CONCURRENT_CHECKS = 8;
/** A call can last no longer than its ring timeout, its maximum duration and this margin together. */
const CALL_MARGIN_SECONDS = 300;

/**
 * The activities of a reconciliation round. They compare records, store mismatches as findings, and change money only
 * through operations of the ledger. Any number of rounds may run at once.
 */
export function createReconciliationActivities(deps: ReconciliationDeps) {
  const { ledger, leases, requests, findings, checks, walks, logger } = deps;

  /** Records a finding. Some kinds also freeze the account, which stops new calls. @returns whether it is new */
  async function report(finding: Finding): Promise<boolean> {
    const { kind, ledgerAccountId, callId, expected, actual } = finding;
    const state = await findings.record(finding);
    if (state === 'resolved') return false;
    if (isFreezing(kind)) await ledger.freeze(ledgerAccountId, `reconciliation: ${kind}`);
    if (state === 'open') return false;
    logger.error({ kind, ledgerAccountId, callId, expected, actual }, 'reconciliation found a mismatch');
    Context.current()
      .metricMeter.createCounter('callwright_reconciliation_findings', 'finding', 'Mismatches found by reconciliation')
      .add(1, { kind });
    return true;
  }

  const readRun = (workflowId: string): Promise<RunState> => readRunState(Context.current().client, workflowId);
  const unfinishedWebhooks = createUnfinishedWebhooks({ ...deps, readRun });

  const unstartedRequests = createUnstartedRequests({ ...deps, readRun });
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

  const steps = {
    ...createReconciliationFollowUps({ ...deps, report, readRun, ...records, unfinishedWebhooks }),

    /**
     * Compares ledger accounts with the sums of their operations. Calls continue meanwhile, so an account that does not
     * match is audited again before it is reported.
     */
    async auditLedgerAccounts(): Promise<{ audited: number; found: number }> {
      const deadline = Date.now() + STEP_BUDGET_MS;
      let [audited, found, more] = [0, 0, true];
      while (more && Date.now() < deadline) {
        const step = await walks.nextAccounts(ACCOUNTS_AT_ONCE);
        for (const id of step.ids) {
          if (Date.now() >= deadline) break;
          // Advance the stored position first, so that an account that cannot be read does not block those after it.
          await step.advance(id);
          await ledger.sweep(id);
          const balanced = (await ledger.audit(id)).balanced;
          const audit = balanced ? undefined : await ledger.audit(id);
          if (audit?.balanced === false) {
            found += Number(await report(unbalanced(id, audit)));
          }
          audited++;
        }
        more = step.hasMore;
      }
      return { audited, found };
    },

    /**
     * Compares each account's count of concurrency slots with its leases, and releases the leases of calls whose
     * workflow has ended or that last longer than any call may.
     */
    async releaseLeases(): Promise<{ released: number; found: number }> {
      const oldest = Date.now() - deps.graceSeconds * 1_000;
      const taken: TakenLease[] = [];
      let found = 0;
      for await (const leaseCount of leases.allSlots()) {
        if (leaseCount.count !== leaseCount.taken.length) found += Number(await report(miscounted(leaseCount)));
        for (const lease of leaseCount.taken) if (lease.acquiredAt.getTime() <= oldest) taken.push(lease);
      }
      const selected = shuffled(taken).slice(0, LEASES_PER_ROUND);
      const released = await countReleased(selected, checkLease, (err, { callId }) =>
        logger.error({ err, callId }, 'concurrency slot could not be checked'),
      );
      return { released, found };
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
      countBroken(sums.broken);
      return sums;
    },

    /** Counts the open findings, and sets a gauge to their number for alerts. */
    async countOpenFindings(): Promise<number> {
      const open = (await findings.list()).length;
      Context.current()
        .metricMeter.createGauge('callwright_reconciliation_open_findings', 'int', 'finding', 'Findings to be resolved')
        .set(open);
      return open;
    },
  };
  return {
    auditLedgerAccounts: () => withHeartbeats(() => steps.auditLedgerAccounts()),
    releaseLeases: () => withHeartbeats(() => steps.releaseLeases()),
    compareRecords: () => withHeartbeats(() => steps.compareRecords()),
    followUp: () => withHeartbeats(() => steps.followUp()),
    countOpenFindings: () => steps.countOpenFindings(),
  };
}

function add<Name extends string>(sums: Record<Name, number>, more: Readonly<Record<Name, number>>): void {
  for (const name of Object.keys(sums) as Name[]) sums[name] += more[name];
}

function countBroken(broken: number): void {
  if (broken === 0) return;
  const { metricMeter } = Context.current();
  metricMeter
    .createCounter('callwright_reconciliation_broken_records', 'record', 'Records that reconciliation skipped')
    .add(broken);
}

/**
 * Builds the finding for an account that failed its audit. The audit also checks prices and the day's spending, so the
 * account's amounts may all be right.
 */
function unbalanced(ledgerAccountId: string, { operations, account, mispriced }: LedgerAudit): Finding {
  const onlySpending = mispriced === 0 && isDeepStrictEqual(operations, account);
  return {
    kind: 'account_unbalanced',
    ledgerAccountId,
    expected: {
      ...operations,
      ...(mispriced > 0 ? { mispricedOperations: 0 } : {}),
      ...(onlySpending ? { spendingOfDay: 'as its operations' } : {}),
    },
    actual: {
      ...account,
      ...(mispriced > 0 ? { mispricedOperations: mispriced } : {}),
      ...(onlySpending ? { spendingOfDay: 'another' } : {}),
    },
  };
}

/** Checks leases, eight at a time. @returns number of released leases */
async function countReleased(
  leases: readonly TakenLease[],
  check: (lease: TakenLease) => Promise<boolean>,
  failed: (error: unknown, lease: TakenLease) => void,
): Promise<number> {
  const queue = leases.values();
  const deadline = Date.now() + STEP_BUDGET_MS;
  const worker = () => tryEach(queue, { until: deadline, failed, work: check });
  const results = await Promise.all(Array.from({ length: CONCURRENT_CHECKS }, worker));
  return results.flat().filter(Boolean).length;
}

function miscounted({ accountId, mode, count, taken }: LeaseCount): Finding {
  return {
    kind: 'places_miscounted',
    ledgerAccountId: ledgerAccountOf(accountId, mode),
    expected: { count: taken.length },
    actual: { count },
  };
}
