import type { BoundRoute } from '../platform/http/routing/bound-route.js';
import type { CarrierAccount, Config } from '../platform/config/config.js';
import { CARRIERS } from './carrier-list.js';
import { withReports } from './reported-requests.js';
import type { CallbackDeps, Carrier, CarrierFactory, Carriers } from './port.js';

/**
 * Creates the configured carrier of each mode.
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

  function createCarrier(account: CarrierAccount): Carrier {
    const factory = Object.hasOwn(factories, account.kind) ? factories[account.kind] : undefined;
    if (factory === undefined)
      throw new Error(`Unknown carrier ${account.kind}: use one of ${Object.keys(factories).join(', ')}.`);
    return withReports(factory({ account, publicBaseUrl, streamUrl, ...timeout }));
  }
  return { live: createCarrier(carriers.live), test: createCarrier(carriers.test) };
}

/** Creates the routes that carriers call: one set per carrier API. */
export function createCarrierRoutes(deps: Omit<CallbackDeps, 'carriers'> & { carriers: Carriers }): BoundRoute[] {
  const { live, test } = deps.carriers;
  return [...new Set([live.contract, test.contract])].flatMap((contract) => {
    const carriers = {
      ...(live.contract === contract ? { live } : {}),
      ...(test.contract === contract ? { test } : {}),
    };
    return contract.createRoutes({ ...deps, carriers });
  });
}
