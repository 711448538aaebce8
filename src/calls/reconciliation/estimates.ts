import { readCorrections } from '../../billing/call-corrections.js';
import { ownerOfLedgerAccount } from '../../kernel/ids.js';
import { priceOfSeconds, rateOf, secondsCovered } from '../../kernel/money.js';
import { CarrierAccountMissing } from '../../telephony/accounts/account-of-call.js';
import type { CarrierApi } from '../../telephony/port.js';
import type { PlacedCall } from '../../telephony/web/carrier.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { CallsDatabase } from '../database.js';
import type { CallBill } from './call-bills.js';
import type { ClosedCallDeps } from './closed-call.js';
import type { CheckDocument } from './model.js';

type EstimateDeps = Pick<ClosedCallDeps, 'bindings' | 'carrierOfCall' | 'ledger'> & {
  database: CallsDatabase;
  logger: Logger;
  readSwept: (call: { callId: string; ledgerAccountId: string }) => Promise<CallBill | undefined>;
};

/** If the carrier has not reported a call's duration after this time, the estimated bill stays. */
const ESTIMATE_FINAL_AFTER_MS = 3 * 24 * 60 * 60_000;
const CORRECTION_REASON = 'The carrier counted fewer seconds than our clocks.';

/** Credits seconds billed beyond the carrier's duration. @returns whether no further check is needed */
export async function checkEstimate(
  deps: EstimateDeps,
  check: CheckDocument,
): Promise<{ over: boolean; corrected: boolean }> {
  const { bindings, database, ledger, logger, readSwept } = deps;
  const { callId, ledgerAccountId, addedAt } = check;
  const isFinal = Date.now() - addedAt.getTime() > ESTIMATE_FINAL_AFTER_MS;
  const settlement = (await readSwept(check))?.settlement;
  const binding = await bindings.find(callId);
  if (!settlement || !binding || binding.closed) return { over: true, corrected: false };
  const { mode } = ownerOfLedgerAccount(ledgerAccountId);
  const { carrierSid, carrierAccountId } = binding;
  const carrier = findCarrier(deps, { mode, carrierSid, carrierAccountId }, { isFinal });
  if (!carrier?.isCallId(carrierSid)) return { over: true, corrected: false };
  const record = await carrier.fetch(carrierSid);
  const seconds = carrierSeconds(record);
  if (seconds === undefined) return { over: isFinal, corrected: false };
  const { billedMicros = 0, heldMicros = 0 } = settlement;
  const rate = rateOf(settlement);
  const payableMicros = priceOfSeconds(Math.min(seconds, secondsCovered(heldMicros, rate)), rate);
  // Do not credit again what an operator has already credited.
  const { creditedMicros, number, repeated } = await readCorrections(database, callId, CORRECTION_REASON);
  const amountMicros = billedMicros - creditedMicros - payableMicros;
  if (repeated || amountMicros <= 0) return { over: true, corrected: false };
  await ledger.correct({ ledgerAccountId, callId, number, amountMicros, reason: CORRECTION_REASON });
  logger.info({ callId, ledgerAccountId, seconds }, 'estimated bill corrected to the duration of the carrier');
  return { over: true, corrected: true };
}

/** Returns the carrier of a call; undefined if its account is not configured and its estimated bill may stay. */
function findCarrier(
  { carrierOfCall }: Pick<EstimateDeps, 'carrierOfCall'>,
  call: PlacedCall,
  { isFinal }: { isFinal: boolean },
): CarrierApi | undefined {
  try {
    return carrierOfCall(call);
  } catch (error) {
    if (isFinal && error instanceof CarrierAccountMissing) return undefined;
    throw error;
  }
}

/** The carrier's duration in seconds; undefined while it is not reported, 0 for a call that was never connected. */
function carrierSeconds(record: Awaited<ReturnType<CarrierApi['fetch']>>): number | undefined {
  switch (record?.status) {
    case 'completed':
      return record.durationSeconds;
    case 'busy':
    case 'failed':
    case 'no-answer':
    case 'canceled':
      return 0;
    default:
      return undefined;
  }
}
