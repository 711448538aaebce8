import type { Mode } from '../kernel/ids.js';
import type { BoundRoute } from '../platform/http/routing/bound-route.js';
import type { CarrierAccount, Config } from '../platform/config/config.js';
import { ofAccount, type AccountOfCall, type CarrierAccountRef, type PerAccount } from './accounts/account-of-call.js';
import { CARRIERS } from './carrier-list.js';
import type { CarrierIdentity } from './callbacks.js';
import { withReports } from './reported-requests.js';
import type { CallbackDeps, Carrier, CarrierFactory, Carriers } from './port.js';

/**
 * Creates the carrier of each configured account.
 * @param deps.factories by kind; all carriers by default
 * @param deps.timeoutMs time limit of a request to the carrier, if shorter than the default
 * @throws Error when the configuration contains an unknown kind of carrier
 */
export function createCarriers(deps: {
  config: Pick<Config, 'carriers' | 'publicBaseUrl' | 'streamUrl'>;
  factories?: Readonly<Record<string, CarrierFactory>>;
  timeoutMs?: number;
}): Carriers {
  const { config, timeoutMs } = deps;
  const factories: Readonly<Record<string, CarrierFactory>> = deps.factories ?? CARRIERS;
  const { carriers, publicBaseUrl, streamUrl } = config;
  const timeout = timeoutMs === undefined ? {} : { timeoutMs };

  function createCarrier(account: CarrierAccount, mode: Mode, isDefault: boolean): Carrier {
    const factory = Object.hasOwn(factories, account.kind) ? factories[account.kind] : undefined;
    if (factory === undefined)
      throw new Error(`Unknown carrier ${account.kind}: use one of ${Object.keys(factories).join(', ')}.`);
    const ref: CarrierAccountRef = { name: account.name, id: account.carrierAccountId, isDefault };
    return withReports({ ...factory({ account, publicBaseUrl, streamUrl, ...timeout }), account: ref }, mode);
  }
  return {
    live: createCarrier(carriers.live, 'live', true),
    test: createCarrier(carriers.test, 'test', true),
    further: carriers.further.map((account) => createCarrier(account, 'live', false)),
  };
}

/** Returns the carrier of a call's account. @throws CarrierAccountMissing if the account is not configured */
export function carrierOfAccount<C extends CarrierIdentity>(carriers: PerAccount<C>, call: AccountOfCall): C {
  return ofAccount(carriers, call, ({ account }) => account?.id);
}

/** Creates the routes that carriers call: one set per carrier API. */
export function createCarrierRoutes(deps: Omit<CallbackDeps, 'carriers'> & { carriers: Carriers }): BoundRoute[] {
  const { live, test, further = [] } = deps.carriers;
  return [...new Set([live.contract, test.contract])].flatMap((contract) => {
    const carriers = {
      // The further accounts are at the carrier of `live`.
      ...(live.contract === contract ? { live, further } : {}),
      ...(test.contract === contract ? { test } : {}),
    };
    return contract.createRoutes({ ...deps, carriers });
  });
}
