import { setTimeout as sleep } from 'node:timers/promises';
import { reconcileNow } from '../../../src/calls/reconciliation/schedule.js';
import type { CarrierCall } from '../../../src/telephony/port.js';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { RECONCILE_SCHEDULE_ID } from '../../../src/calls/reconciliation/round.js';
import type { CallInput } from '../../../src/kernel/call-signals.js';
import { createAccounts } from '../../../src/identity/accounts/accounts.js';
import { createCarrierBindings } from '../../../src/telephony/carrier-bindings.js';
import { createFindings } from '../../../src/calls/reconciliation/findings.js';
import { placeCall, startHarness } from './harness.js';
import { newSid } from '../../support/sids.js';

/** The balance with which each account of these tests begins. */
export const MONEY = 36_000 * 2_500;

export const byKey = (key: string) => ({ _id: key as never });

/** Returns the carrier's record of an ended call. */
export function ended(sid: string, more: Partial<CarrierCall> = {}): CarrierCall {
  return { carrierSid: sid, status: 'completed', endedAt: Date.now(), ...more };
}

export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 50_000; Date.now() < deadline; await sleep(50)) if (await condition()) return;
  throw new Error('the condition did not become true in time');
}

export type Reconciling = Awaited<ReturnType<typeof startReconciling>>;

/** Starts the harness in real time. Its reconciliation compares records of any age. */
export async function startReconciling(options: { workflowBundle?: { code: string } } = {}) {
  const env = { TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS, RECONCILE_GRACE_SECONDS: '0' };
  const harness = await startHarness({ realTime: true, env, ...options });
  const { database, ledger, gateway, carrier, environment } = harness;
  const bindings = createCarrierBindings(database);
  const findings = createFindings(database);

  /** Places a call. On a busy machine, a reservation may take too long: such a call is never dialed, so this repeats. */
  async function grantedCall(input: Parameters<typeof placeCall>[1]) {
    carrier.outcomes.push({ outcome: 'accepted', carrierSid: newSid('CA') });
    for (let calls = 0; calls < 5; calls += 1) {
      const { answer, call } = await placeCall(harness, input);
      if (answer.outcome === 'granted') return call;
    }
    throw new Error('none of five calls was granted in time');
  }

  /** Places a call that rings at the carrier and has its own carrier id. */
  async function ringingCall(input: Partial<CallInput> & { webhookUrl?: string; microsPerSecond?: number } = {}) {
    const { callId, accountId, ...call } = await grantedCall(input);
    await until(async () => (await bindings.find(callId)) !== null);
    const { carrierSid: sid } = (await bindings.find(callId)) ?? { carrierSid: '' };
    return {
      ...call,
      callId,
      accountId,
      sid,
      money: ledgerAccountId(accountId, 'live'),
      async reportAnswer(): Promise<void> {
        // The carrier also asks the API for instructions, which records that it got some.
        await bindings.bind(callId, sid, carrier, { direction: 'outbound' });
        await bindings.recordInstruction(callId, sid);
        await gateway.signalCarrier(
          callId,
          { carrierSid: sid, kind: 'answered', at: Date.now() },
          `${callId}:answered`,
        );
        await until(async () => (await database.calls.exists({ _id: callId, status: 'IN_PROGRESS' })) !== null);
      },
      /** The carrier reports that the call has ended. */
      async hangUp(durationSeconds?: number): Promise<void> {
        const end = { carrierSid: sid, kind: 'ended' as const, at: Date.now(), status: 'completed' as const };
        const more = durationSeconds === undefined ? {} : { durationSeconds };
        await gateway.signalCarrier(callId, { ...end, ...more }, `${callId}:ended`);
      },
      terminate: () => environment.client.workflow.getHandle(callId).terminate('a test'),
    };
  }

  return {
    ...harness,
    bindings,
    findings,
    ringingCall,
    entries: database.ledgerEntries.collection,

    /** The workflow id of the rounds that `round` runs. */
    roundId: `${RECONCILE_SCHEDULE_ID}-${harness.config.temporal.taskQueues.calls}-now`,

    /** Runs one round of reconciliation, including the checks that it postpones. */
    async round() {
      await database.reconciliationChecks.updateMany({}, { $set: { dueAt: new Date(0) } });
      return reconcileNow(harness.config, 60_000);
    },

    async openFindings(id: string) {
      const open = await findings.list({ ledgerAccountId: id });
      return open.map(({ kind, expected, actual }) => ({ kind, expected, actual }));
    },

    async newAccount(): Promise<{ accountId: string; money: string }> {
      const { _id } = await createAccounts(database).create({ name: 'Test', plan: 'scale' });
      const money = ledgerAccountId(_id, 'live');
      await ledger.topUp({ ledgerAccountId: money, paymentId: 'p1', amountMicros: MONEY });
      return { accountId: _id, money };
    },

    /** Runs a regular call of 7 s. */
    async completedCall(input: Parameters<typeof ringingCall>[0] = {}) {
      const call = await ringingCall(input);
      await call.reportAnswer();
      await call.hangUp(7);
      await call.result();
      return call;
    },
  };
}
