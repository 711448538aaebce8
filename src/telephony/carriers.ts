import type { BoundRoute } from '../platform/http/routing/bound-route.js';
import type { CarrierAccount, Config } from '../platform/config/config.js';
import type { CallbackDeps, Carrier, Carriers } from './port.js';
import { createTwilioCarrier } from './twilio/adapter.js';

/** Makes the carrier of an account. */
export type CarrierFactory = (deps: {
  account: CarrierAccount;
  publicBaseUrl: string;
  streamUrl: string;
  timeoutMs?: number;
}) => Carrier;

/** Every carrier there is, by the kind that the configuration names. The simulated one speaks Twilio's interface. */
export const CARRIERS: Readonly<Record<string, CarrierFactory>> = {
  simulator: createTwilioCarrier,
  twilio: createTwilioCarrier,
};

/**
 * The carrier of each mode, as the configuration names it.
 * @param deps.factories by kind; by default every carrier there is
 * @param deps.timeoutMs how long an order or question may take, if less than usual
 * @throws Error when the configuration names a kind that there is not
 */
export function createCarriers(deps: {
  config: Pick<Config, 'carriers' | 'publicBaseUrl' | 'streamUrl'>;
  factories?: Readonly<Record<string, CarrierFactory>>;
  timeoutMs?: number;
}): Carriers {
  const { config, factories = CARRIERS, timeoutMs } = deps;
  const { carriers, publicBaseUrl, streamUrl } = config;
  const timeout = timeoutMs === undefined ? {} : { timeoutMs };

  function carrierOf(account: CarrierAccount): Carrier {
    const factory = Object.hasOwn(factories, account.kind) ? factories[account.kind] : undefined;
    if (factory === undefined) throw new Error(`There is no carrier of the kind ${account.kind}.`);
    return factory({ account, publicBaseUrl, streamUrl, ...timeout });
  }
  return { live: carrierOf(carriers.live), test: carrierOf(carriers.test) };
}

/** The routes that the requests of these carriers come to: one set for each interface that is spoken. */
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
