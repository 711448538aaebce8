import { isFinalStatus } from '../src/kernel/call-state.js';
import { compareBill, isUnfinished, readBills, type CallBill } from '../src/calls/reconciliation/call-bills.js';
import type { Finding } from '../src/calls/reconciliation/findings.js';
import type { MetCall, Walk } from '../src/calls/reconciliation/walks.js';
import type { createLeftWebhooks } from './left-webhooks.js';
import type { ReconciliationDeps } from './reconciliation-follow-ups.js';

/** An audit, and each walk, takes no longer than this and leaves the rest to the next round. */
export const STEP_BUDGET_MS = 15_000;
const CALLS_AT_ONCE = 200;

/** Compares calls with their bills, and leaves what is to be done about them to later. */
export function createRecordComparison(
  deps: ReconciliationDeps & {
    /** Writes a finding down. @returns whether it is new */
    report: (finding: Finding) => Promise<boolean>;
    leftWebhooks: ReturnType<typeof createLeftWebhooks>;
  },
) {
  const { database, ledger, checks, walks, report, leftWebhooks, logger } = deps;

  /** Entries of operations that are decided but not written out yet would look like lost ones. */
  async function readSwept(call: Pick<MetCall, 'callId' | 'ledgerAccountId'>): Promise<CallBill | undefined> {
    await ledger.sweep(call.ledgerAccountId);
    return (await readBills(database, [call]))[0];
  }

  /** Compares one call of a walk, and leaves what is to be done about it to `followUp`. @returns new findings */
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

  async function noteWebhooks(bills: readonly CallBill[]): Promise<void> {
    const final = new Map(bills.filter(({ call }) => call && isFinalStatus(call.status)).map((b) => [b.callId, b]));
    for (const callId of await leftWebhooks.unfinished([...final.keys()])) {
      const bill = final.get(callId);
      if (bill) await checks.add('webhook', bill);
    }
  }

  async function followHold(bill: CallBill): Promise<void> {
    if (bill.settlement === null && (await readSwept(bill))?.settlement === null) await checks.add('ending', bill);
  }

  /** One that fails is put aside, so that the walk goes on to the others. @returns new findings */
  async function compareOne(walk: Walk, bill: CallBill): Promise<number> {
    try {
      if (walk !== 'holds') return await compare(bill);
      await followHold(bill);
    } catch (error) {
      logger.error({ err: error, callId: bill.callId, walk }, 'the records of a call could not be compared');
      await checks.add(walk === 'holds' ? 'ending' : 'comparison', bill);
    }
    return 0;
  }

  return {
    readSwept,

    /** Compares a call that was put aside. */
    async compareAgain(call: Pick<MetCall, 'callId' | 'ledgerAccountId'>): Promise<void> {
      const [bill] = await readBills(database, [call]);
      if (bill) await compare(bill);
    },

    async compareWalk(walk: Walk): Promise<{ compared: number; found: number }> {
      const ageSeconds = walk === 'holds' ? deps.holdLimitSeconds : deps.graceSeconds;
      const until = new Date(Date.now() - ageSeconds * 1_000);
      const deadline = Date.now() + STEP_BUDGET_MS;
      let [compared, found, more] = [0, 0, true];
      while (more && Date.now() < deadline) {
        const step = await walks.next(walk, until, CALLS_AT_ONCE);
        const bills = await readBills(database, step.calls);
        for (const bill of bills) found += await compareOne(walk, bill);
        if (walk === 'calls') await noteWebhooks(bills);
        for (const call of step.calls) if (call.estimated) await checks.add('estimate', call);
        await step.done();
        compared += step.calls.length;
        ({ more } = step);
      }
      return { compared, found };
    },
  };
}
