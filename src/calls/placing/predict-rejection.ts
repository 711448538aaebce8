import type { Leases } from '../../billing/leases.js';
import type { Ledger } from '../../billing/ledger/ledger.js';
import { limitsOfCall } from '../../identity/accounts/received-share.js';
import type { Principal } from '../../identity/access/principal.js';
import type { ReservationResult } from '../../kernel/call-signals.js';
import { lowestRate } from '../../kernel/destinations/rate-deck.js';
import { HOLD_WINDOW_SECONDS, windowRequest } from '../../kernel/hold-windows.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import { reservationRejection } from './reservation-rejection.js';
import { priceOfSeconds, rateOf, type Micros } from '../../kernel/money.js';
import type { Config } from '../../platform/config/config.js';
import type { CallRequestDocument } from '../call-request-model.js';

export interface PredictRejectionDeps {
  config: Config;
  leases: Leases;
  ledger: Ledger;
}

export interface Prediction {
  /** Absent: no rejection is certain. Then the reservation decides by the same rules, {@link reservationRejection}. */
  rejection?: ReservationResult;
  /** The epoch of the ledger account, see `Ledger.balanceAtEpoch`. */
  ledgerEpoch: number;
}

/** Predicts whether a new call's reservation will be rejected. This takes one to three reads instead of a workflow. */
export async function predictRejection(
  { config, leases, ledger }: PredictRejectionDeps,
  { account, mode }: Pick<Principal, 'account' | 'mode'>,
  call: Pick<CallRequestDocument, 'direction' | 'maxDurationSeconds' | 'microsPerSecond'>,
): Promise<Prediction> {
  const id = ledgerAccountId(account._id, mode);
  const { direction } = call;
  const limits = limitsOfCall(account, { mode, direction }, config.calls);
  const { concurrentCalls: limit, dailySpendCapMicros } = limits;
  const { epoch: ledgerEpoch, availableMicros, heldMicros } = await ledger.balanceAtEpoch(id);
  const { holdWindows } = config.calls;
  const { micros: first } = windowRequest(0, {
    heldSeconds: 0,
    maxDurationSeconds: call.maxDurationSeconds,
    microsPerSecond: rateOf(call),
    ...(holdWindows === undefined ? {} : { windows: holdWindows }),
  });
  // Every call in progress holds money. So an account that holds little has few calls, and need not be asked for its slots.
  const mayBeFull = heldMicros >= limit * smallestHold(config);
  const current = mayBeFull ? await leases.taken({ accountId: account._id, mode }) : 0;
  const slotsTaken = current >= limit;
  if (!slotsTaken && availableMicros >= first) return { ledgerEpoch };
  const rejection = reservationRejection({
    firstMicros: first,
    ...(slotsTaken ? { full: { limit, current } } : {}),
    ...(dailySpendCapMicros === undefined
      ? {}
      : { day: { spentMicros: await ledger.spentToday(id), capMicros: dailySpendCapMicros } }),
  });
  return { rejection, ledgerEpoch };
}

/** The least that a call in progress holds: its first window at the lowest price. */
function smallestHold({ calls }: Config): Micros {
  const [seconds = 0] = calls.holdWindows ?? HOLD_WINDOW_SECONDS;
  return priceOfSeconds(seconds, lowestRate(calls.rates));
}
