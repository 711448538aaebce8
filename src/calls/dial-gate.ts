import type { Config } from '../config.js';
import { destinationFault } from '../domain/destinations.js';
import { createPlansLoader } from '../numbering/national-plans.js';
import type { AccountDocument } from '../store/models/account.js';

export type DialGate = ReturnType<typeof createDialGate>;

/** What everything that dials asks before: calls when they are requested, transfers, and both once more at the dial. */
export function createDialGate({ config }: { config: Pick<Config, 'calls'> }) {
  const loadPlans = createPlansLoader();

  return {
    /** Loads what the checks need, so that the first of them is as quick as the others. */
    async warm(): Promise<void> {
      await loadPlans();
    },

    /** Why this account may not call a number, in a sentence for the client; undefined when it may. */
    async fault(to: string, account: AccountDocument): Promise<string | undefined> {
      return destinationFault(to, {
        caps: account.destinationCaps ?? [],
        prefixLists: [account.allowedCountryPrefixes ?? [], config.calls.allowedCountryPrefixes],
        plans: await loadPlans(),
      });
    },

    /** Whether a number reaches an emergency or another national service: no account may call it. */
    async isServiceNumber(to: string): Promise<boolean> {
      return (await loadPlans()).serviceNumber(to) !== undefined;
    },
  };
}
