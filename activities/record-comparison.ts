import { isFinalStatus } from '../src/kernel/call-state.js';
import { compareBill, isUnfinished, readBills, type CallBill } from '../src/calls/reconciliation/call-bills.js';
import type { Finding } from '../src/calls/reconciliation/findings.js';
import type { MetCall, Walk } from '../src/calls/reconciliation/walks.js';
import { tryEach } from '../src/platform/try-each.js';
import type { createLeftWebhooks } from './left-webhooks.js';
import type { ReconciliationDeps } from './reconciliation-follow-ups.js';

/** Time limit of the audit and of each walk; the next round continues. */
export const STEP_BUDGET_MS = 15_000;
const CALLS_AT_ONCE = 200;

type NamedCall = Pick<MetCall, 'callId' | 'ledgerAccountId'>;

/** Compares calls with their bills, and schedules checks of those that need one. */
export function createRecordComparison(
  deps: ReconciliationDeps & {
    /** Records a finding. @returns whether it is new */
    report: (finding: Finding) => Promise<boolean>;
    leftWebhooks: ReturnType<typeof createLeftWebhooks>;
  },
) {
  const { database, ledger, checks, walks, report, leftWebhooks, logger } = deps;

  /** Reads a bill after a sweep. Without it, ledger entries not written out yet would look like missing ones. */
  async function readSwept(call: NamedCall): Promise<CallBill | undefined> {
    await ledger.sweep(call.ledgerAccountId);
    return (await readBills(database, [call]))[0];
  }

  /** Compares one call of a walk; `followUp` handles what it schedules. @returns number of new findings */
  async function compare(bill: CallBill): Promise<number> {
    const final = bill.call !== null && isFinalStatus(bill.call.status);
    if (isUnfinished(bill) && !final) {
      await checks.add('ending', bill);
      return 0;
    }
    if (compareBill(bill).length === 0) return 0;
    const again = await readSwept(bill);
    let found = 0;
    for (const finding of again ? compareBill(again) : []) found += Number(await report(finding));
    return found;
  }

  /** Reads the bills in one batch, or one by one if that fails, so that one broken record does not stop the others. */
  async function billsOf(walk: Walk, calls: readonly MetCall[]): Promise<CallBill[]> {
    try {
      return await readBills(database, calls);
    } catch {
      const read = await tryEach(calls, {
        until: Infinity,
        work: (call) => readBills(database, [call]),
        failed: (error, call) => putAside(walk, call, error),
      });
      return read.flat();
    }
  }

  /** Schedules a separate check. Rejects if the database is unavailable, so that the walk repeats this step. */
  async function putAside(walk: Walk, call: NamedCall, err: unknown): Promise<void> {
    logger.error({ err, callId: call.callId, walk }, 'the records of a call could not be compared');
    await checks.add(walk === 'holds' ? 'ending' : 'comparison', call);
    if (walk === 'calls') await checks.add('webhook', call);
  }

  /** Schedules checks of unfinished webhooks, read as in `billsOf`. Unreadable attempts count as unfinished. */
  async function noteWebhooks(bills: readonly CallBill[]): Promise<void> {
    const final = new Map(bills.filter(({ call }) => call && isFinalStatus(call.status)).map((b) => [b.callId, b]));
    const note = async (callIds: readonly string[]) => {
      for (const callId of await leftWebhooks.unfinished(callIds)) {
        const bill = final.get(callId);
        if (bill) await checks.add('webhook', bill);
      }
    };
    try {
      await note([...final.keys()]);
    } catch {
      await tryEach(final.values(), {
        until: Infinity,
        work: ({ callId }) => note([callId]),
        failed: (err, bill) => {
          logger.error({ err, callId: bill.callId }, 'the webhook attempts of a call could not be read');
          return checks.add('webhook', bill);
        },
      });
    }
  }

  async function followHold(bill: CallBill): Promise<void> {
    if (bill.settlement === null && (await readSwept(bill))?.settlement === null) await checks.add('ending', bill);
  }

  /** Compares one call. If that fails, schedules a separate check, so that the walk continues. @returns new findings */
  async function compareOne(walk: Walk, bill: CallBill): Promise<number> {
    try {
      if (walk !== 'holds') return await compare(bill);
      await followHold(bill);
    } catch (error) {
      await putAside(walk, bill, error);
    }
    return 0;
  }

  return {
    readSwept,

    /** Compares a call whose first comparison failed. */
    async compareAgain(call: NamedCall): Promise<void> {
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
        for (const id of step.broken) logger.error({ id, walk }, 'a record that names no call was skipped');
        const bills = await billsOf(walk, step.calls);
        for (const bill of bills) found += await compareOne(walk, bill);
        if (walk === 'calls') await noteWebhooks(bills);
        for (const call of step.calls) if (call.estimated) await checks.add('estimate', call);
        await step.done();
        compared += step.calls.length;
        broken += step.broken.length;
        ({ more } = step);
      }
      return { compared, found, broken };
    },
  };
}
