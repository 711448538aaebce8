import { reservationRejection } from '../placing/reservation-rejection.js';
import type { Leases } from '../../billing/leases.js';
import type { Ledger } from '../../billing/ledger/ledger.js';
import type { CallRequests } from '../call-requests.js';
import { CallRequestMissing } from '../errors.js';
import type { CallProjection, ProjectedChange } from '../projection.js';
import type { Accounts } from '../../identity/accounts/accounts.js';
import { limitsOfCall } from '../../identity/accounts/received-share.js';
import type { ReservationResult } from '../../kernel/call-signals.js';
import { windowRequest } from '../../kernel/hold-windows.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import { rateOf } from '../../kernel/money.js';
import type { Config } from '../../platform/config/config.js';
import type { WebhookSecrets } from '../../webhooks/signing/secrets.js';
import type { ServerClock } from '../../platform/mongo/server-clock.js';
import type { CallOfAccount } from './call-of-account.js';

interface Deps {
  config: Config;
  accounts: Accounts;
  requests: CallRequests;
  ledger: Ledger;
  leases: Leases;
  projection: CallProjection;
  clock: ServerClock;
  webhookSecrets: Pick<WebhookSecrets, 'remember'>;
}

interface ReservationInput extends CallOfAccount {
  maxDurationSeconds: number;
  windows?: readonly number[];
  /** Deadline by the database server's clock, ms since the epoch. */
  decideBy?: number;
  /** See `CallInput`. */
  ledgerEpoch?: number;
  change: ProjectedChange;
}

/** Decides whether calls go ahead. */
export function createCallReservations(deps: Deps) {
  const { config, accounts, requests, ledger, leases, projection } = deps;

  /** Gives up a call whose deadline has passed. Keeps it if an earlier attempt has stored it as RINGING. */
  async function isTooLate({ callId, decideBy }: ReservationInput): Promise<boolean> {
    if (decideBy === undefined || (await deps.clock()) <= decideBy) return false;
    return (await projection.giveUp(callId)) === 'given_up';
  }

  function firstHold(input: ReservationInput, microsPerSecond: number, dailySpendCapMicros?: number) {
    const { callId, accountId, mode, maxDurationSeconds, windows, ledgerEpoch } = input;
    return ledger.hold({
      ledgerAccountId: ledgerAccountId(accountId, mode),
      callId,
      window: 0,
      maxDurationSeconds,
      microsPerSecond,
      knownEpoch: ledgerEpoch,
      ...(windows === undefined ? {} : { windows }),
      ...(dailySpendCapMicros === undefined ? {} : { dailySpendCapMicros }),
    });
  }

  return {
    /**
     * Takes a concurrency slot and the first hold, then stores the call as RINGING. Once stored, the call goes ahead.
     * @returns seconds held, or why the call does not go ahead; then `abandonCall` releases the slot and the hold.
     * `expired`: the deadline has passed, or the API gave the call up.
     */
    async reserveCall(
      input: ReservationInput,
    ): Promise<
      | { outcome: 'granted'; heldSeconds: number }
      | { outcome: 'expired' }
      | { outcome: 'refused'; refusal: Extract<ReservationResult, { outcome: 'refused' }> }
    > {
      if (await isTooLate(input)) return { outcome: 'expired' };
      const { callId, accountId, mode, change, maxDurationSeconds, windows } = input;
      const [account, request] = await Promise.all([accounts.find(accountId), requests.find(callId)]);
      if (!account || !request) {
        throw new CallRequestMissing();
      }
      deps.webhookSecrets.remember(account);
      const { direction } = request;
      const limits = limitsOfCall(account, { mode, direction }, config.calls);
      const { concurrentCalls: limit, dailySpendCapMicros } = limits;
      const microsPerSecond = rateOf(request);
      const lease = await leases.acquire({ accountId, mode, callId, limit });
      if (!lease.granted) {
        const first = windowRequest(0, { heldSeconds: 0, maxDurationSeconds, microsPerSecond, windows });
        const dayOf = async (capMicros: number) => ({
          day: { spentMicros: await ledger.spentToday(ledgerAccountId(accountId, mode)), capMicros },
        });
        const refusal = reservationRejection({
          firstMicros: first.micros,
          full: { limit, current: lease.current },
          ...(dailySpendCapMicros === undefined ? {} : await dayOf(dailySpendCapMicros)),
        });
        return { outcome: 'refused', refusal };
      }
      const hold = await firstHold(input, microsPerSecond, dailySpendCapMicros);
      if (hold.grantedSeconds === 0) {
        const code = hold.refusal ?? 'INSUFFICIENT_BALANCE';
        return { outcome: 'refused', refusal: { outcome: 'refused', code } };
      }
      if (await isTooLate(input)) return { outcome: 'expired' };
      if ((await projection.begin(request, change)) === 'given_up') return { outcome: 'expired' };
      return { outcome: 'granted', heldSeconds: hold.heldSeconds };
    },

    /**
     * Decides whether a call goes ahead after `reserveCall` failed or timed out. If `reserveCall` stored the call as
     * RINGING, it goes ahead, because the API client may have seen that status. Otherwise the call is given up.
     */
    async concludeReservation(
      input: ReservationInput,
    ): Promise<{ outcome: 'granted'; heldSeconds: number } | { outcome: 'expired' }> {
      if ((await projection.giveUp(input.callId)) === 'given_up') return { outcome: 'expired' };
      const request = await requests.find(input.callId);
      if (!request) throw new CallRequestMissing();
      // The hold was decided before the call was stored as RINGING. Repeating the hold returns that decision.
      const { heldSeconds } = await firstHold(input, rateOf(request));
      return { outcome: 'granted', heldSeconds };
    },

    /** Releases the slot and hold of a call that will never be dialed. A later attempt to reserve the call fails. */
    async abandonCall(input: CallOfAccount & { expired: boolean }): Promise<void> {
      const { callId, accountId, mode } = input;
      await leases.release({ accountId, mode, callId });
      await ledger.settle({ ledgerAccountId: ledgerAccountId(accountId, mode), callId, billedSeconds: 0 });
      if (input.expired) await projection.writeTombstone(callId);
      // A rejected call has no read model, so its account could not erase its personal data later.
      await requests.erase(callId);
    },
  };
}
