import { allHandlersFinished, CancellationScope, condition } from '@temporalio/workflow';
import { isFinal } from '../src/kernel/call-state.js';
import type { CallInput, CallResult } from '../src/kernel/call-signals.js';
import { createCallRun, type CallRun } from './call-run.js';
import { waitForDialSlot } from './dial-slot.js';
import { dial } from './dial.js';
import { waitForEnd } from './ending.js';
import { receiveEvents } from './events.js';
import { notifyCustomer } from './notification.js';
import { abandon, reserve } from './reservation.js';
import { waitForAnswer } from './ring.js';
import { settleEndedCall } from './settlement.js';
import { holdWindows } from './hold-windows.js';

/** Runs a phone call from the reservation of money to the delivery of the webhook. The workflow id is the call_id. */
export async function CallWorkflow(input: CallInput): Promise<CallResult> {
  const call = createCallRun(input);
  receiveEvents(call);
  // Handle an operator's cancellation as an ordinary event, so that the call is hung up, settled and reported.
  CancellationScope.current().cancelRequested.catch(() => {
    call.apply({ type: 'hang_up_requested', cause: 'operator_cancel', now: Date.now() });
  });
  return CancellationScope.nonCancellable(async () => {
    await runCall(call);
    await call.tasksDone();
    await condition(allHandlersFinished);
    return call.result();
  });
}

async function runCall(call: CallRun): Promise<void> {
  const reservation = await reserve(call);
  if (reservation.outcome !== 'granted') {
    await abandon(call, reservation);
    return;
  }
  const outbound = call.input.direction === 'outbound';
  const slot = outbound ? await waitForDialSlot(call) : {};
  if (slot === undefined) call.apply({ type: 'dial_failed', endReason: 'expired', now: Date.now() });
  call.apply({ type: 'reserved', now: Date.now() });
  if (outbound && slot && !isFinal(call.state)) await dial(call, slot);
  await waitForAnswer(call);
  await holdWindows(call);
  while ((await waitForEnd(call)) === 'continues') {
    if (call.state.answeredAt === undefined) await waitForAnswer(call);
    await holdWindows(call);
  }
  await settleEndedCall(call);
  await notifyCustomer(call);
}
