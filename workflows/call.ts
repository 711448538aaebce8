import { allHandlersFinished, CancellationScope, condition } from '@temporalio/workflow';
import { isFinal } from '../src/kernel/call-state.js';
import type { CallInput, CallResult } from '../src/kernel/call-signals.js';
import { createCallRun, type CallRun } from './call-run.js';
import { awaitTurn } from './dial-slot.js';
import { dial } from './dial.js';
import { awaitEnd } from './ending.js';
import { receiveEvents } from './events.js';
import { notify } from './notification.js';
import { abandon, reserve } from './reservation.js';
import { ring } from './ring.js';
import { settleEndedCall } from './settlement.js';
import { talk } from './talk.js';

/** A phone call, from the reservation of money to the delivery of the webhook. Its workflow id is the call_id. */
export async function CallWorkflow(input: CallInput): Promise<CallResult> {
  const call = createCallRun(input);
  receiveEvents(call);
  // An operator's cancellation is an ordinary event: the call is still hung up, settled and reported by webhook.
  CancellationScope.current().cancelRequested.catch(() => {
    call.apply({ type: 'hang_up_requested', cause: 'operator_cancel', now: Date.now() });
  });
  return CancellationScope.nonCancellable(async () => {
    await conduct(call);
    await call.tasksDone();
    await condition(allHandlersFinished);
    return call.result();
  });
}

async function conduct(call: CallRun): Promise<void> {
  const reservation = await reserve(call);
  if (reservation.outcome !== 'granted') {
    await abandon(call, reservation);
    return;
  }
  const outbound = call.input.direction === 'outbound';
  const turn = outbound ? await awaitTurn(call) : {};
  if (turn === undefined) call.apply({ type: 'dial_failed', endReason: 'expired', now: Date.now() });
  call.apply({ type: 'reserved', now: Date.now() });
  if (outbound && turn && !isFinal(call.state)) await dial(call, turn);
  await ring(call);
  await talk(call);
  await awaitEnd(call);
  await settleEndedCall(call);
  await notify(call);
}
