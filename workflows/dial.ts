import { ActivityFailure, condition, patched, sleep, TimeoutFailure } from '@temporalio/workflow';
import { isUnwanted } from '../src/calls/call-outcome.js';
import { LONGEST_DIAL_WAIT_MS } from '../src/telephony/pacing/dial-queue.js';
import { carrierTimeLimit } from '../src/kernel/hold-windows.js';
import type { EndReason } from '../src/kernel/call-state.js';
import { closeBinding, dialCallee, carrierActivities } from './activity-proxies.js';
import type { CallRun } from './call-run.js';
import { waitForDialSlot, type DialSlot } from './dial-slot.js';

/** Maximum attempts when the carrier provably placed no call. */
const MAX_ATTEMPTS = 3;

/** Waits before the searches for a carrier call, at 2, 5 and 10 s after an ambiguous attempt. */
const SEARCH_WAITS_MS = [2_000, 3_000, 5_000];

/** Dials the call in its dial slot. Repeats an attempt only if it provably did not dial. */
export async function dial(call: CallRun, firstSlot: NonNullable<DialSlot>): Promise<void> {
  let slot: DialSlot = firstSlot;
  for (let attempt = 1; ; attempt++) {
    // Canceled while waiting for the next attempt: no call was placed.
    if (isUnwanted(call.state)) return fail(call, 'carrier_unreachable');
    if (slot === undefined) return fail(call, 'expired');
    const dialedAt = Date.now();
    const outcome = await requestDial(call, slot);
    switch (outcome.outcome) {
      case 'accepted':
        call.mayHaveRung = true;
        if (outcome.queuedMs !== undefined && patched('queued-at-carrier')) {
          call.queuedMs = Math.min(outcome.queuedMs, LONGEST_DIAL_WAIT_MS);
        }
        return call.apply({ type: 'dial_accepted', carrierSid: outcome.carrierSid, now: Date.now() });
      case 'refused':
        return fail(call, outcome.endReason);
      case 'never_sent':
        return fail(call, 'expired');
      case 'ambiguous':
        call.mayHaveRung = true;
        return searchPlacedCall(call, dialedAt);
      case 'throttled':
      case 'unreachable':
        if ('afterMs' in outcome && outcome.afterMs !== undefined && patched('places-of-test-dials')) {
          if (!(await waitForCapacity(call, outcome.afterMs))) return fail(call, 'expired');
          // No call was placed for lack of capacity, so this does not count as an attempt.
          attempt--;
          slot = await waitForDialSlot(call);
          break;
        }
        if (attempt === MAX_ATTEMPTS) return fail(call, 'carrier_unreachable');
        await sleep(1_000 * attempt);
        slot = await waitForDialSlot(call);
    }
  }
}

/**
 * Waits for capacity of the worker or the carrier account, longer each time.
 * @returns false when the call's total wait is used up
 */
async function waitForCapacity(call: CallRun, afterMs: number): Promise<boolean> {
  const leftMs = LONGEST_DIAL_WAIT_MS - call.waitedMs;
  if (leftMs <= 0) return false;
  const askedAt = Date.now();
  await condition(() => isUnwanted(call.state), Math.min(afterMs + Math.round(call.waitedMs / 4), leftMs));
  call.waitedMs += Date.now() - askedAt;
  return true;
}

async function requestDial(call: CallRun, { slotAt }: NonNullable<DialSlot>) {
  const { callId, mode, ringTimeoutSeconds } = call.input;
  try {
    const timeLimitSeconds = carrierTimeLimit(call.heldSeconds);
    return await dialCallee({
      callId,
      mode,
      ringTimeoutSeconds,
      timeLimitSeconds,
      ...(slotAt === undefined ? {} : { slotAt }),
    });
  } catch (error) {
    const { cause } = error instanceof ActivityFailure ? error : { cause: error };
    const neverSent = cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START';
    return { outcome: neverSent ? ('never_sent' as const) : ('ambiguous' as const) };
  }
}

/**
 * Searches for the carrier call of an ambiguous attempt. If none is found, makes sure that a carrier call that appears
 * later cannot be bound to our call.
 */
async function searchPlacedCall(call: CallRun, since: number): Promise<void> {
  const { callId, mode } = call.input;
  const isFound = () => call.state.carrierSid !== undefined;
  for (const waitMs of SEARCH_WAITS_MS) {
    if (await condition(isFound, waitMs)) return;
    const found = await carrierActivities.findPlacedCall({ callId, mode, since }).catch(() => undefined);
    if (isFound()) return;
    if (found?.carrierSid !== undefined) {
      return call.apply({ type: 'dial_accepted', carrierSid: found.carrierSid, now: Date.now() });
    }
  }
  const bound = await closeBinding({ callId });
  if (bound.carrierSid === undefined) return fail(call, 'carrier_unreachable');
  call.apply({ type: 'dial_accepted', carrierSid: bound.carrierSid, now: Date.now() });
}

function fail(call: CallRun, endReason: EndReason): void {
  call.apply({ type: 'dial_failed', endReason, now: Date.now() });
}
