import type { Config } from '../platform/config/config.js';
import type { Carriers } from './port.js';
import { createTwilioCarrier } from './twilio/adapter.js';

/**
 * The carrier of each mode; both speak the same interface, only account and base URL differ.
 * @param deps.timeoutMs how long an order or question may take, if less than usual
 */
export function createCarriers(deps: { config: Config; timeoutMs?: number }): Carriers {
  const { carriers, publicBaseUrl } = deps.config;
  const timeout = deps.timeoutMs === undefined ? {} : { timeoutMs: deps.timeoutMs };
  return {
    live: createTwilioCarrier({ account: carriers.live, publicBaseUrl, ...timeout }),
    test: createTwilioCarrier({ account: carriers.test, publicBaseUrl, ...timeout }),
  };
}
