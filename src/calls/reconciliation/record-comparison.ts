import { isFinalStatus } from '../../kernel/call-state.js';
import { compareBill, isUnfinished, readBills, type CallBill } from './call-bills.js';
import type { Finding } from './findings.js';
import type { WalkedCall, Walk } from './walks.js';
import { tryEach } from '../../platform/try-each.js';
import type { createUnfinishedWebhooks } from './unfinished-webhooks.js';
import type { ReconciliationDeps } from './run-checks.js';

/** Time limit of the audit and of each walk over records. The next round continues where they stop. */
export const STEP_BUDGET_MS = 15_000;
const CALLS_AT_ONCE = 200;

type CallKey = Pick<WalkedCall, 'callId' | 'ledgerAccountId'>;

/** Compares calls with their bills, and schedules checks of those that need one. */
export function createRecordComparison(
  deps: ReconciliationDeps & {
    /** Records a finding. @returns whether it is new */
    report: (finding: Finding) => Promise<boolean>;
    unfinishedWebhooks: ReturnType<typeof createUnfinishedWebhooks>;
  },
) {
  const { database, ledger, checks, walks, report, unfinishedWebhooks, logger } = deps;

  /** Writes all ledger entries of the account (`sweep`), then reads the bill. Unwritten entries would look missing. */
  async function readSwept(call: CallKey): Promise<CallBill | undefined> {
    await ledger.sweep(call.ledgerAccountId);
    return (await readBills(database, [call]))[0];
  }

  /** Compares one call with its bill. Schedules a check if the call has not ended. @returns number of new findings */
  async function compare(bill: CallBill): Promise<number> {
    const final = bill.call !== null && isFinalStatus(bill.call.status);
    if (isUnfinished(bill) && !final) {
      await checks.add('ending', bill);
      return 0;
    }
    if (compareBill(bill).length === 0) return 0;
    const reread = await readSwept(bill);
    let found = 0;
    for (const finding of reread ? compareBill(reread) : []) found += Number(await report(finding));
    return found;
  }

  /** Reads the bills in one batch, or one by one if that fails, so that one broken record does not stop the others. */
  async function readBillsInBatch(walk: Walk, calls: readonly WalkedCall[]): Promise<CallBill[]> {
    try {
      return await readBills(database, calls);
    } catch {
      const read = await tryEach(calls, {
        until: Infinity,
        work: (call) => readBills(database, [call]),
        failed: (error, call) => scheduleCheck(walk, call, error),
      });
      return read.flat();
    }
  }

  /** Schedules a separate check of a call. Without the database this fails, and the next round tries again. */
  async function scheduleCheck(walk: Walk, call: CallKey, err: unknown): Promise<void> {
    logger.error({ err, callId: call.callId, walk }, 'records of a call could not be compared');
    await checks.add(walk === 'holds' ? 'ending' : 'comparison', call);
    if (walk === 'calls') await checks.add('webhook', call);
  }

  /** Schedules checks of unfinished webhooks. A webhook whose attempts cannot be read counts as unfinished. */
  async function scheduleWebhookChecks(bills: readonly CallBill[]): Promise<void> {
    const final = new Map(bills.filter(({ call }) => call && isFinalStatus(call.status)).map((b) => [b.callId, b]));
    const schedule = async (callIds: readonly string[]) => {
      for (const callId of await unfinishedWebhooks.findUnfinished(callIds)) {
        const bill = final.get(callId);
        if (bill) await checks.add('webhook', bill);
      }
    };
    try {
      await schedule([...final.keys()]);
    } catch {
      await tryEach(final.values(), {
        until: Infinity,
        work: ({ callId }) => schedule([callId]),
        failed: (err, bill) => {
          logger.error({ err, callId: bill.callId }, 'webhook attempts of a call could not be read');
          return checks.add('webhook', bill);
        },
      });
    }
  }

  async function checkHold(bill: CallBill): Promise<void> {
    if (bill.settlement === null && (await readSwept(bill))?.settlement === null) await checks.add('ending', bill);
  }

  /** Compares one call. If that fails, schedules a separate check, so that the walk continues. @returns new findings */
  async function compareOne(walk: Walk, bill: CallBill): Promise<number> {
    try {
      if (walk !== 'holds') return await compare(bill);
      await checkHold(bill);
    } catch (error) {
      await scheduleCheck(walk, bill, error);
    }
    return 0;
  }

  return {
    readSwept,

    /** Compares a call whose first comparison failed. */
    async compareAgain(call: CallKey): Promise<void> {
      const [bill] = await readBills(database, [call]);
      if (bill) await compare(bill);
    },

    /** Compares the calls of a walk's next steps. @returns `broken`: skipped records without a call or account id */
    async compareWalk(walk: Walk): Promise<{ compared: number; found: number; broken: number }> {
      const ageSeconds = walk === 'holds' ? deps.holdLimitSeconds : deps.graceSeconds;
      const until = new Date(Date.now() - ageSeconds * 1_000);
      const deadline = Date.now() + STEP_BUDGET_MS;
      let [compared, found, broken, more] = [0, 0, 0, true];
      while (more && Date.now() < deadline) {
        const step = await walks.next(walk, until, CALLS_AT_ONCE);
        for (const id of step.broken) logger.error({ id, walk }, 'record without a valid call or account id skipped');
        const bills = await readBillsInBatch(walk, step.calls);
        for (const bill of bills) found += await compareOne(walk, bill);
        if (walk === 'calls') await scheduleWebhookChecks(bills);
        for (const call of step.calls) if (call.estimated) await checks.add('estimate', call);
        await step.advance();
        compared += step.calls.length;
        broken += step.broken.length;
        more = step.hasMore;
      }
      return { compared, found, broken };
    },
  };
}
