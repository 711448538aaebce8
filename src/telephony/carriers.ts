import type { Config } from '../platform/config/config.js';
import type { Carriers } from './port.js';
import { createTwilioCarrier } from './twilio/adapter.js';

/** The carrier of each mode; both speak the same interface, only account and base URL differ. */
export function createCarriers(deps: { config: Config }): Carriers {
  const { carriers, publicBaseUrl } = deps.config;
  return {
    live: createTwilioCarrier({ account: carriers.live, publicBaseUrl }),
    test: createTwilioCarrier({ account: carriers.test, publicBaseUrl }),
  };
}
