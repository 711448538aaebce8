import { Context } from '@temporalio/activity';
import type { Config } from '../src/platform/config/config.js';
import type { CarrierOfCall } from '../src/telephony/web/carrier.js';
import { carrierTimeLimit, forecastEnd } from '../src/kernel/hold-windows.js';
import { ledgerAccountId } from '../src/kernel/ids.js';
import { rateOf, type Micros } from '../src/kernel/money.js';
import type { Accounts } from '../src/identity/accounts/accounts.js';
import { limitsOfCall } from '../src/identity/accounts/received-share.js';
import { NotYetHeld } from '../src/billing/errors.js';
import type { CallRequests } from '../src/calls/call-requests.js';
import type { Ledger } from '../src/billing/ledger/ledger.js';
import type { CallProjection, ProjectedChange } from '../src/calls/projection.js';
import type { CallOfAccount } from './money.js';

interface Deps {
  config: Config;
  accounts: Accounts;
  requests: CallRequests;
  ledger: Ledger;
  carrierOfCall: CarrierOfCall;
  projection: CallProjection;
}

interface Extension extends CallOfAccount {
  window: number;
  /** Seconds held before this window. */
  heldSeconds: number;
  maxDurationSeconds: number;
  windows?: readonly number[];
  carrierSid?: string;
  /** Delay in ms before the window is held; if absent, it is held at once. */
  holdInMs?: number;
  /** Read model writes that say when the call will be forced to end: `forecast` before the hold, `decided` after it. */
  forecast: ProjectedChange;
  decided: ProjectedChange;
}

/** Activities that hold money so that a call in progress can continue. */
export function createExtensionActivities({ config, accounts, requests, ledger, carrierOfCall, projection }: Deps) {
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

  /** Stores the time at which the balance or the daily limit will end the call, so that the agent can wrap up in time. */
  async function showForecast(input: Extension): Promise<void> {
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
  }

  return {
    /**
     * Holds the next window, and only then raises the carrier's time limit, so that the carrier never continues an
     * unpaid call. If the carrier cannot change the limit, only the workflow's timer ends the call. Also writes to the
     * read model whether the call will be forced to end.
     *
     * With `holdInMs`, the first attempt only writes the forecast and fails with that delay, and Temporal retries after
     * it. The second attempt holds the window. If the worker crashed before it reported the delay, Temporal retries
     * sooner, and the window is held a few seconds early. A retry adds no history event.
     */
    async extendHold(input: Extension) {
      const { callId, accountId, mode, window, maxDurationSeconds, windows, carrierSid, holdInMs } = input;
      const { attempt, scheduledTimestampMs } = Context.current().info;
      if (holdInMs !== undefined && attempt === 1) {
        // A failed forecast must not prevent the hold.
        await showForecast(input).catch(() => undefined);
        // Subtract the time that the activity waited for a worker. A wrong clock can only make the hold earlier.
        throw new NotYetHeld(holdInMs - Math.max(0, Date.now() - scheduledTimestampMs));
      }
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
      const carrier = carrierSid === undefined ? undefined : carrierOfCall(mode, carrierSid);
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
