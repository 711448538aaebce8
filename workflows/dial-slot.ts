import { CancellationScope, condition } from '@temporalio/workflow';
import { isUnwanted } from '../src/calls/call-outcome.js';
import { isFinal } from '../src/kernel/call-state.js';
import { takeDialSlotWithin } from './activity-proxies.js';
import { accountOfInput, type CallRun } from './call-run.js';

/** Timeout of the wait for a dial slot if no worker runs. A running activity gives up after `LONGEST_DIAL_WAIT_MS`. */
const GIVE_UP_AFTER_MS = 65_000;

/** The time of a dial slot, in ms of the database server's clock. Without `slotAt` the carrier has no rate limit. */
export type DialSlot = { slotAt?: number } | undefined;

/**
 * Waits for a dial slot, at most one minute over all attempts of the call. The call is IDLE during the first wait.
 * @returns undefined if there was no slot in time or the call was canceled: then nothing may be dialed
 */
export async function waitForDialSlot(call: CallRun): Promise<DialSlot> {
  const { callId, accountId, mode, carrierAccountId, paced } = call.input;
  if (paced !== true) return {};
  const isNoLongerWanted = () => isFinal(call.state) || isUnwanted(call.state);
  const askedAt = Date.now();
  const { waitedMs } = call;
  const shown = call.state.status === 'IDLE' ? { waiting: call.nextChange(), dialing: call.nextChange() } : undefined;
  const scope = new CancellationScope();
  let isAnswered = false;
  void condition(() => isAnswered || isNoLongerWanted()).then(() => {
    if (!isAnswered) scope.cancel();
  });
  call.waitingSince = askedAt;
  call.describe();
  try {
    const { slotAt } = await scope.run(() =>
      takeDialSlotWithin(Math.max(1, GIVE_UP_AFTER_MS - waitedMs))({
        callId,
        accountId,
        mode,
        ...accountOfInput(carrierAccountId),
        waitedMs,
        ...(shown === undefined ? {} : { shown }),
      }),
    );
    // The slot and the cancellation may arrive in the same workflow task.
    if (isNoLongerWanted()) return undefined;
    return slotAt === null ? {} : { slotAt };
  } catch {
    return undefined;
  } finally {
    isAnswered = true;
    call.waitedMs += Date.now() - askedAt;
    call.waitingSince = undefined;
    call.describe();
  }
}
