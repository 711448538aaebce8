import type { Config } from '../../platform/config/config.js';
import type { CarrierOfCall } from '../../telephony/web/carrier.js';
import { carrierTimeLimit, forecastEnd } from '../../kernel/hold-windows.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import { rateOf, type Micros } from '../../kernel/money.js';
import type { Accounts } from '../../identity/accounts/accounts.js';
import { limitsOfCall } from '../../identity/accounts/received-share.js';
import type { CallRequests } from '../call-requests.js';
import type { Ledger } from '../../billing/ledger/ledger.js';
import type { CallProjection, ProjectedChange } from '../projection.js';
import type { CallOfAccount } from './call-of-account.js';

interface Deps {
  config: Config;
  accounts: Accounts;
  requests: CallRequests;
  ledger: Ledger;
  carrierOfCall: CarrierOfCall;
  projection: CallProjection;
}

export interface Extension extends CallOfAccount {
  window: number;
  /** Seconds held before this window. */
  heldSeconds: number;
  maxDurationSeconds: number;
  windows?: readonly number[];
  carrierSid?: string;
  /** See `CallInput`. */
  carrierAccountId?: string;
  /** Read model writes that say when the call will be forced to end: `forecast` before the hold, `decided` after it. */
  forecast: ProjectedChange;
  decided: ProjectedChange;
}

export type HoldExtensions = ReturnType<typeof createHoldExtensions>;

/** Holds money so that a call in progress can continue. */
export function createHoldExtensions({ config, accounts, requests, ledger, carrierOfCall, projection }: Deps) {
  /**
   * Reads the daily limit of spending and the call's price per second. The ledger uses the price only if no first hold
   * has already set the call's price.
   */
  async function readTerms({
    callId,
    accountId,
    mode,
  }: Extension): Promise<{ cap: Micros | undefined; microsPerSecond: Micros }> {
    const [account, request] = await Promise.all([accounts.find(accountId), requests.find(callId)]);
    const call = { mode, direction: request?.direction ?? 'outbound' };
    const cap = account ? limitsOfCall(account, call, config.calls).dailySpendCapMicros : undefined;
    return { cap, microsPerSecond: rateOf(request ?? {}) };
  }

  return {
    /**
     * Stores the time at which the balance or the daily limit will end the call, so that the agent can wrap up in time.
     */
    async showForecast(input: Extension): Promise<void> {
      const { accountId, mode, window, heldSeconds, maxDurationSeconds, windows } = input;
      const account = ledgerAccountId(accountId, mode);
      const [{ availableMicros }, { cap, microsPerSecond }] = await Promise.all([
        ledger.balance(account),
        readTerms(input),
      ]);
      const unspentMicros = cap === undefined ? Infinity : Math.max(0, cap - (await ledger.spentToday(account)));
      const spendableMicros = Math.min(availableMicros, unspentMicros);
      const terms = { heldSeconds, maxDurationSeconds, microsPerSecond, windows };
      const endsAfterSeconds = forecastEnd(window, terms, spendableMicros);
      if (endsAfterSeconds !== undefined) await projection.apply({ ...input.forecast, endsAfterSeconds });
    },

    /**
     * Holds the next window, and only then raises the carrier's time limit, so that the carrier never continues an
     * unpaid call. If the carrier cannot change the limit, only the workflow's timer ends the call. Also writes to the
     * read model whether the call will be forced to end.
     */
    async extendHold(input: Extension) {
      const { callId, accountId, mode, window, maxDurationSeconds, windows, carrierSid, carrierAccountId } = input;
      const { cap, microsPerSecond } = await readTerms(input);
      const hold = await ledger.hold({
        ledgerAccountId: ledgerAccountId(accountId, mode),
        callId,
        window,
        maxDurationSeconds,
        microsPerSecond,
        ...(windows === undefined ? {} : { windows }),
        ...(cap === undefined ? {} : { dailySpendCapMicros: cap }),
      });
      const carrier = carrierSid === undefined ? undefined : carrierOfCall({ mode, carrierSid, carrierAccountId });
      if (hold.grantedSeconds > 0 && carrierSid !== undefined && carrier?.capabilities.canChangeTimeLimit) {
        await carrier.limitTo(carrierSid, carrierTimeLimit(hold.heldSeconds));
      }
      const isForced = hold.last || hold.grantedSeconds === 0 || hold.heldSeconds >= maxDurationSeconds;
      const endsAfterSeconds = isForced ? Math.min(hold.heldSeconds, maxDurationSeconds) : null;
      // Ignore a failure: the stored time of the end only serves to let the agent say goodbye before it.
      await projection.apply({ ...input.decided, endsAfterSeconds }).catch(() => undefined);
      return hold;
    },
  };
}
