import { z } from 'zod';
import { DEFAULT_ACCOUNT, liveCarrierVariables, type CarrierAccount, type ProductionCheck } from './account.js';
import { readCarrierAccounts, type CarrierPool } from './accounts-file.js';
import { simulatorSettings, simulatorVariables, testCarrierAccount } from './simulator.js';
import { twilioSettings, twilioVariables } from './twilio.js';

/** The carriers that live calls can use, by the value of CARRIER. */
const CARRIER_SETTINGS = { simulator: simulatorSettings, twilio: twilioSettings };

/** The values of CARRIER. */
export type CarrierName = keyof typeof CARRIER_SETTINGS;
const NAMES = Object.keys(CARRIER_SETTINGS) as [CarrierName, ...CarrierName[]];
/** Names of the carriers whose calls reach people and cost money. */
export const REAL_CARRIERS: readonly string[] = NAMES.filter((name) => !CARRIER_SETTINGS[name].isSimulated);

/** Environment variables of the carriers, including the simulated one. */
export const carrierVariables = {
  CARRIER: z
    .enum(NAMES)
    .optional()
    .meta({
      description: `carrier of live keys: ${REAL_CARRIERS.map((name) => `\`${name}\``).join(', ')} or \`simulator\`; required in production`,
      shown: '`simulator`',
      production: 'twilio',
    }),
  ...liveCarrierVariables,
  ...twilioVariables,
  ...simulatorVariables,
};
type CarrierVariables = z.infer<z.ZodObject<typeof carrierVariables>> & { NODE_ENV: string };

/** Whether live calls have a carrier whose calls reach people and cost money. */
export function isLiveCarrierReal({ CARRIER }: { CARRIER?: string | undefined }): boolean {
  return CARRIER !== undefined && REAL_CARRIERS.includes(CARRIER);
}

/** Returns the carrier account of live calls. @throws Error when a variable is missing */
export function liveCarrierAccount(values: CarrierVariables): CarrierAccount {
  const settings = CARRIER_SETTINGS[values.CARRIER ?? 'simulator'];
  return { name: DEFAULT_ACCOUNT, isSimulated: settings.isSimulated, ...settings.liveAccount(values) };
}

/** The accounts at carriers. */
export interface CarrierAccounts {
  /** The account `default` of live calls. */
  live: CarrierAccount;
  test: CarrierAccount;
  /** Further accounts of live calls, at the same carrier as `live`. */
  further: readonly CarrierAccount[];
  /** Pools of accounts of live calls, one of them `default`. */
  pools: readonly CarrierPool[];
}

/** Returns all carrier accounts. @throws Error when a variable is missing, or CARRIER_ACCOUNTS_FILE is invalid */
export function carrierAccounts(values: CarrierVariables): CarrierAccounts {
  const [live, test] = [liveCarrierAccount(values), testCarrierAccount(values)];
  const { furtherAccounts: common } = CARRIER_SETTINGS[values.CARRIER ?? 'simulator'];
  const read = readCarrierAccounts(values.CARRIER_ACCOUNTS_FILE, {
    configured: [live, test],
    production: values.NODE_ENV === 'production',
    baseUrl: common.baseUrl(values),
    tokenFault: (token) => common.tokenFault(token),
    callsPerSecond: common.callsPerSecond,
  });
  const { kind, isSimulated } = live;
  return {
    live,
    test,
    further: read.accounts.map((account) => ({ ...account, kind, isSimulated })),
    pools: read.pools,
  };
}

/** The checks of all carriers in production. */
export const carrierProductionChecks: readonly ProductionCheck<CarrierVariables>[] = NAMES.flatMap(
  (name): readonly ProductionCheck<CarrierVariables>[] => CARRIER_SETTINGS[name].inProduction ?? [],
);

/**
 * Returns a sentence for each variable that does not fit the others.
 * @param malformed variables that are rejected anyway
 */
export function carrierFaults(values: CarrierVariables, malformed: ReadonlySet<string>): string[] {
  return NAMES.flatMap((name) => CARRIER_SETTINGS[name].faults?.(values, malformed) ?? []);
}
