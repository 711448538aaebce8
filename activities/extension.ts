import type { Carriers } from '../src/carrier/port.js';
import { ledgerAccountId } from '../src/domain/ids.js';
import { limitsOf, type Accounts } from '../src/store/accounts.js';
import type { Ledger } from '../src/store/ledger.js';
import type { CallOfAccount } from './money.js';

/** Carriers may refuse a shorter limit; shorter ends are kept by the workflow's timers. */
const MIN_TIME_LIMIT_SECONDS = 60;

/** Paying for more of a call that goes on. */
export function createExtensionActivities(deps: { accounts: Accounts; ledger: Ledger; carriers: Carriers }) {
  const { accounts, ledger, carriers } = deps;
  return {
    /**
     * Holds the next window and, when it is granted, moves the carrier's own limit of the call to match: in that order,
     * so that the carrier never lets a call go on that nobody paid for.
     */
    async extendHold(
      input: CallOfAccount & {
        window: number;
        maxDurationSeconds: number;
        windows?: readonly number[];
        carrierSid?: string;
      },
    ) {
      const { callId, accountId, mode, window, maxDurationSeconds, windows, carrierSid } = input;
      const account = await accounts.find(accountId);
      const { dailySpendCapMicros } = account ? limitsOf(account, mode) : {};
      const hold = await ledger.hold({
        ledgerAccountId: ledgerAccountId(accountId, mode),
        callId,
        window,
        maxDurationSeconds,
        ...(windows === undefined ? {} : { windows }),
        ...(dailySpendCapMicros === undefined ? {} : { dailySpendCapMicros }),
      });
      if (hold.grantedSeconds > 0 && carrierSid !== undefined) {
        await carriers[mode].limitTo(carrierSid, Math.max(MIN_TIME_LIMIT_SECONDS, hold.heldSeconds));
      }
      return hold;
    },
  };
}
