import type { Leases } from '../../billing/leases.js';
import type { Ledger } from '../../billing/ledger/ledger.js';
import { limitsOfCall } from '../../identity/accounts/received-share.js';
import type { Principal } from '../../identity/access/principal.js';
import type { ReservationResult } from '../../kernel/call-signals.js';
import { windowRequest } from '../../kernel/hold-windows.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import { reservationRejection } from './reservation-rejection.js';
import { rateOf } from '../../kernel/money.js';
import type { Config } from '../../platform/config/config.js';
import type { CallRequestDocument } from '../call-request-model.js';

export interface PredictRejectionDeps {
  config: Config;
  leases: Leases;
  ledger: Ledger;
}

/**
 * Predicts whether a new call's reservation will be rejected. This takes two or three reads instead of a workflow.
 * Returns undefined if no rejection is certain. Then the reservation decides by the same rules, {@link
 * reservationRejection}.
 */
export async function predictRejection(
  { config, leases, ledger }: PredictRejectionDeps,
  { account, mode }: Pick<Principal, 'account' | 'mode'>,
  call: Pick<CallRequestDocument, 'direction' | 'maxDurationSeconds' | 'microsPerSecond'>,
): Promise<ReservationResult | undefined> {
  const id = ledgerAccountId(account._id, mode);
  const { direction } = call;
  const limits = limitsOfCall(account, { mode, direction }, config.calls);
  const { concurrentCalls: limit, dailySpendCapMicros } = limits;
  const [current, balance] = await Promise.all([leases.taken({ accountId: account._id, mode }), ledger.balance(id)]);
  const { holdWindows } = config.calls;
  const { micros: first } = windowRequest(0, {
    heldSeconds: 0,
    maxDurationSeconds: call.maxDurationSeconds,
    microsPerSecond: rateOf(call),
    ...(holdWindows === undefined ? {} : { windows: holdWindows }),
  });
  const slotsTaken = current >= limit;
  if (!slotsTaken && balance.availableMicros >= first) return undefined;
  return reservationRejection({
    firstMicros: first,
    ...(slotsTaken ? { full: { limit, current } } : {}),
    ...(dailySpendCapMicros === undefined
      ? {}
      : { day: { spentMicros: await ledger.spentToday(id), capMicros: dailySpendCapMicros } }),
  });
}
