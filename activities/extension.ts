import { Context } from '@temporalio/activity';
import type { Config } from '../src/platform/config/config.js';
import type { CarrierApis } from '../src/telephony/port.js';
import { carrierTimeLimit, forecastEnd } from '../src/kernel/hold-windows.js';
import { ledgerAccountId } from '../src/kernel/ids.js';
import { rateOf, type Micros } from '../src/kernel/money.js';
import { limitsOf, type Accounts } from '../src/identity/accounts/accounts.js';
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
  carriers: CarrierApis;
  projection: CallProjection;
}

interface Extension extends CallOfAccount {
  window: number;
  /** Seconds that are held before this window. */
  heldSeconds: number;
  maxDurationSeconds: number;
  windows?: readonly number[];
  carrierSid?: string;
  /** The window is held this much later; absent: now. */
  holdInMs?: number;
  /** The read model's writes of the second at which the talk will be ended: as it is forecast, and as it is decided. */
  forecast: ProjectedChange;
  decided: ProjectedChange;
}

/** Paying for more of a call that goes on. */
export function createExtensionActivities({ config, accounts, requests, ledger, carriers, projection }: Deps) {
  async function dailySpendCapOf({ accountId, mode }: Extension): Promise<Micros | undefined> {
    const account = await accounts.find(accountId);
    return account ? limitsOf(account, mode, config.calls.liveLimits).dailySpendCapMicros : undefined;
  }

  /** For the forecast, and for a ledger that has no first window of the call; else that window's own price counts. */
  async function priceOf(callId: string): Promise<Micros> {
    return rateOf((await requests.find(callId)) ?? {});
  }

  /** Shows the end that balance or day's limit will force, if they stay as they are: the agent is to wrap up in time. */
  async function showForecast(input: Extension): Promise<void> {
    const { callId, accountId, mode, window, heldSeconds, maxDurationSeconds, windows } = input;
    const account = ledgerAccountId(accountId, mode);
    const [{ availableMicros }, cap, microsPerSecond] = await Promise.all([
      ledger.balance(account),
      dailySpendCapOf(input),
      priceOf(callId),
    ]);
    const unspentMicros = cap === undefined ? Infinity : Math.max(0, cap - (await ledger.spentToday(account)));
    const spendableMicros = Math.min(availableMicros, unspentMicros);
    const terms = { heldSeconds, maxDurationSeconds, microsPerSecond, windows };
    const endsAfterSeconds = forecastEnd(window, terms, spendableMicros);
    if (endsAfterSeconds !== undefined) await projection.apply({ ...input.forecast, endsAfterSeconds });
  }

  return {
    /**
     * Holds the next window and, when it is granted, moves the carrier's own limit of the call to match: in that order,
     * so that the carrier never lets a call go on that nobody paid for. Where the carrier cannot move it, the workflow's
     * timer alone ends the call. The end that is forced, once it is known, goes
     * to the read model. The look at the balance before is a first attempt that asks to come back, so that it costs the
     * history nothing; when it is lost with its worker, the second holds some seconds early.
     */
    async extendHold(input: Extension) {
      const { callId, accountId, mode, window, maxDurationSeconds, windows, carrierSid, holdInMs } = input;
      const { attempt, scheduledTimestampMs } = Context.current().info;
      if (holdInMs !== undefined && attempt === 1) {
        // A forecast that cannot be had must not cost the call its hold.
        await showForecast(input).catch(() => undefined);
        // An attempt that had to wait for a worker has less time left. A clock that is wrong holds early, never late.
        throw new NotYetHeld(holdInMs - Math.max(0, Date.now() - scheduledTimestampMs));
      }
      const [dailySpendCapMicros, microsPerSecond] = await Promise.all([dailySpendCapOf(input), priceOf(callId)]);
      const hold = await ledger.hold({
        ledgerAccountId: ledgerAccountId(accountId, mode),
        callId,
        window,
        maxDurationSeconds,
        microsPerSecond,
        ...(windows === undefined ? {} : { windows }),
        ...(dailySpendCapMicros === undefined ? {} : { dailySpendCapMicros }),
      });
      const { canChangeTimeLimit } = carriers[mode].capabilities;
      if (hold.grantedSeconds > 0 && carrierSid !== undefined && canChangeTimeLimit) {
        await carriers[mode].limitTo(carrierSid, carrierTimeLimit(hold.heldSeconds));
      }
      const isForced = hold.last || hold.grantedSeconds === 0 || hold.heldSeconds >= maxDurationSeconds;
      const endsAfterSeconds = isForced ? Math.min(hold.heldSeconds, maxDurationSeconds) : null;
      // Who reads it speaks of the end a little early or not at all; the talk does not depend on it.
      await projection.apply({ ...input.decided, endsAfterSeconds }).catch(() => undefined);
      return hold;
    },
  };
}
