import { condition } from '@temporalio/workflow';
import { carrierTimeLimit, extensionLeadMs, forecastLeadMs, HOLD_WINDOW_SECONDS } from '../src/kernel/hold-windows.js';
import type { Activities } from '../activities/create-activities.js';
import type { EndReason } from '../src/kernel/call-state.js';
import { carrierActivities, extendWithin } from './activity-proxies.js';
import type { CallRun } from './call-run.js';
import { isEnding } from './is-ending.js';

/** Carriers report whole seconds, so the real time of the answer may be up to this much later than the reported one. */
const CARRIER_CLOCK_STEP_MS = 999;

/** Skip the forecast if the window is to be held within this time. */
const MIN_FORECAST_LEAD_MS = 2_000;

/**
 * Holds money for each window before the previous one ends, and hangs up when the last held second is over. Returns early if
 * the call is ending. If it then continues, the next call of this function holds the further windows.
 */
export async function holdWindows(call: CallRun): Promise<void> {
  const { answeredAt } = call.state;
  if (answeredAt === undefined || isEnding(call)) return;
  const { maxDurationSeconds, windows = HOLD_WINDOW_SECONDS } = call.input;
  const clockStart = Math.min(Date.now(), answeredAt + CARRIER_CLOCK_STEP_MS);
  const msUntil = (seconds: number) => Math.max(0, clockStart + seconds * 1_000 - Date.now());
  const ending = () => isEnding(call);
  if (call.input.direction === 'inbound' && !call.isLimited) limitInbound(call);

  let endReason = call.noMoreWindows;
  while (endReason === undefined && call.heldSeconds < maxDurationSeconds) {
    const lastSize = windows[call.nextWindow - 1] ?? 0;
    const endsAt = clockStart + call.heldSeconds * 1_000;
    if (await condition(ending, Math.max(1, endsAt - Date.now() - forecastLeadMs(lastSize)))) return;
    endReason = await holdNextWindow(call, { holdAt: endsAt - extensionLeadMs(lastSize), endsAt });
    if (ending()) return;
  }
  const endSeconds = Math.min(call.heldSeconds, maxDurationSeconds);
  if (await condition(ending, Math.max(1, msUntil(endSeconds)))) return;
  const cause = endSeconds >= maxDurationSeconds ? 'max_duration' : (endReason ?? 'balance_exhausted');
  call.apply({ type: 'hang_up_requested', cause, now: Date.now() });
}

/**
 * Holds the next window at `holdAt`, and retries until the last window ends. Returns early if the call ends, because a
 * settled call rejects later holds.
 * @returns why there can be no further window; undefined if the call may continue
 */
async function holdNextWindow(
  call: CallRun,
  { holdAt, endsAt }: { holdAt: number; endsAt: number },
): Promise<EndReason | undefined> {
  const { callId, accountId, maxDurationSeconds, windows } = call.input;
  const holdInMs = Math.round(holdAt - Date.now());
  let held: Awaited<ReturnType<Activities['extendHold']>> | 'failed' | undefined;
  extendWithin(endsAt - Date.now())({
    callId,
    accountId,
    mode: call.input.mode,
    ...call.placedCall(),
    window: call.nextWindow,
    heldSeconds: call.heldSeconds,
    maxDurationSeconds,
    ...(holdInMs > MIN_FORECAST_LEAD_MS ? { holdInMs } : {}),
    forecast: call.nextChange(),
    decided: call.nextChange(),
    ...(windows === undefined ? {} : { windows }),
  }).then(
    (hold) => (held = hold),
    () => (held = 'failed'),
  );
  await condition(() => held !== undefined || isEnding(call));
  if (held === undefined) return undefined;
  // All attempts failed, for example without a database, so end the call when the seconds held so far are over.
  if (held === 'failed') return 'internal_error';
  call.heldSeconds = held.heldSeconds;
  call.nextWindow += 1;
  call.holdRejection = held.refusal;
  if (held.last || held.grantedSeconds === 0) call.noMoreWindows = 'balance_exhausted';
  call.describe();
  return call.noMoreWindows;
}

/** Sets the carrier's time limit of an inbound call, which has none from the start. */
function limitInbound(call: CallRun): void {
  const placed = call.placedCall();
  if (placed === undefined) return;
  call.isLimited = true;
  const seconds = carrierTimeLimit(call.heldSeconds);
  // Ignore a failure, because the workflow's timers end the call, too.
  call.track(carrierActivities.limitCall({ ...placed, seconds }).catch(() => undefined));
}
