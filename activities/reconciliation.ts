import { isDeepStrictEqual } from 'node:util';
import { Context } from '@temporalio/activity';
import { shuffled } from '../src/platform/shuffled.js';
import { runStateOf, type RunState } from '../src/calls/runs.js';
import { ledgerAccountId as ledgerAccountOf } from '../src/kernel/ids.js';
import type { Finding } from '../src/calls/reconciliation/findings.js';
import { isFreezing } from '../src/calls/reconciliation/model.js';
import type { LedgerAudit } from '../src/billing/ledger/ledger.js';
import type { LeaseCount, TakenLease } from '../src/billing/leases.js';
import { createRecordComparison, STEP_BUDGET_MS } from './record-comparison.js';
import { createLeftRequests } from './left-requests.js';
import { createLeftWebhooks } from './left-webhooks.js';
import { tryEach } from '../src/platform/try-each.js';
import { whileBeating } from './while-beating.js';
import { createReconciliationFollowUps, type ReconciliationDeps } from './reconciliation-follow-ups.js';

const ACCOUNTS_AT_ONCE = 100;
/** Leases checked in one round; with more, a random selection, so that each is checked eventually. */
const LEASES_PER_ROUND = 1_000;
const QUESTIONS_AT_ONCE = 8;
/** Added to a call's ring timeout and maximum duration, gives the longest time it can last. */
const CALL_MARGIN_SECONDS = 300;

/**
 * The steps of a round of reconciliation. Each compares records, records mismatches as findings, and changes money only
 * through the ledger's own operations. Any number of rounds may run at once.
 */
export function createReconciliationActivities(deps: ReconciliationDeps) {
  const { ledger, leases, requests, findings, checks, walks, logger } = deps;

  /** Records a finding. An open one of a freezing kind stops the account's new calls. @returns whether it is new */
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

  const runOf = (workflowId: string): Promise<RunState> => runStateOf(Context.current().client, workflowId);
  const leftWebhooks = createLeftWebhooks({ ...deps, runOf });

  const leftRequests = createLeftRequests({ ...deps, runOf });
  const records = createRecordComparison({ ...deps, report, leftWebhooks });

  /** @returns whether the lease was released */
  async function checkLease(lease: TakenLease): Promise<boolean> {
    const { callId, accountId, mode } = lease;
    const run = await runOf(callId);
    const request = run === 'running' ? await requests.find(callId) : null;
    const limitSeconds = request && request.ringTimeoutSeconds + request.maxDurationSeconds + CALL_MARGIN_SECONDS;
    const overlong = limitSeconds !== null && Date.now() - lease.acquiredAt.getTime() > limitSeconds * 1_000;
    if (run === 'running' && !overlong) return false;
    await leases.release({ accountId, mode, callId });
    logger.warn({ callId, accountId, mode, run }, 'released the place of a call that is over');
    if (run !== 'running') await checks.add('ending', { callId, ledgerAccountId: ledgerAccountOf(accountId, mode) });
    return true;
  }

  const steps = {
    ...createReconciliationFollowUps({ ...deps, report, runOf, ...records, leftWebhooks }),

    /**
     * Compares ledger accounts with the sums of their operations, while calls continue. An account that does not match
     * is audited a second time before it is reported.
     */
    async auditLedgerAccounts(): Promise<{ audited: number; found: number }> {
      const deadline = Date.now() + STEP_BUDGET_MS;
      let [audited, found, more] = [0, 0, true];
      while (more && Date.now() < deadline) {
        const step = await walks.nextAccounts(ACCOUNTS_AT_ONCE);
        for (const id of step.ids) {
          if (Date.now() >= deadline) break;
          // Advance first, so that an account that cannot be read does not block the others.
          await step.done(id);
          await ledger.sweep(id);
          const balanced = (await ledger.audit(id)).balanced;
          const audit = balanced ? undefined : await ledger.audit(id);
          if (audit?.balanced === false) {
            found += Number(await report(unbalanced(id, audit)));
          }
          audited++;
        }
        ({ more } = step);
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
      for await (const places of leases.places()) {
        if (places.count !== places.taken.length) found += Number(await report(miscounted(places)));
        for (const lease of places.taken) if (lease.acquiredAt.getTime() <= oldest) taken.push(lease);
      }
      const asked = shuffled(taken).slice(0, LEASES_PER_ROUND);
      const released = await countReleased(asked, checkLease, (err, { callId }) =>
        logger.error({ err, callId }, 'the place of a call could not be checked'),
      );
      return { released, found };
    },

    /**
     * Compares settlements with calls and calls with settlements, finds old unsettled holds, and ends old requests.
     * @returns `broken`: records that were skipped
     */
    async compareRecords(): Promise<{ compared: number; found: number; broken: number }> {
      const sums = { compared: 0, found: 0, broken: 0 };
      for (const walk of ['settlements', 'calls', 'holds'] as const) add(sums, await records.compareWalk(walk));
      sums.broken += (await leftRequests.sweep()).broken;
      countBroken(sums.broken);
      return sums;
    },

    /** Number of open findings; also set as a gauge, for alerts. */
    async countOpenFindings(): Promise<number> {
      const open = (await findings.list()).length;
      Context.current()
        .metricMeter.createGauge('callwright_reconciliation_open_findings', 'int', 'finding', 'Findings to be resolved')
        .set(open);
      return open;
    },
  };
  return {
    auditLedgerAccounts: () => whileBeating(() => steps.auditLedgerAccounts()),
    releaseLeases: () => whileBeating(() => steps.releaseLeases()),
    compareRecords: () => whileBeating(() => steps.compareRecords()),
    followUp: () => whileBeating(() => steps.followUp()),
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
 * The finding for an unbalanced account. The audit also checks prices and the day's spending, which are not amounts.
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

/** Checks some leases at a time. @returns number of released leases */
async function countReleased(
  leases: readonly TakenLease[],
  check: (lease: TakenLease) => Promise<boolean>,
  failed: (error: unknown, lease: TakenLease) => void,
): Promise<number> {
  const queue = leases.values();
  const until = Date.now() + STEP_BUDGET_MS;
  const worker = () => tryEach(queue, { until, failed, work: check });
  const answers = await Promise.all(Array.from({ length: QUESTIONS_AT_ONCE }, worker));
  return answers.flat().filter(Boolean).length;
}

function miscounted({ accountId, mode, count, taken }: LeaseCount): Finding {
  return {
    kind: 'places_miscounted',
    ledgerAccountId: ledgerAccountOf(accountId, mode),
    expected: { count: taken.length },
    actual: { count },
  };
}
