import type { Mode } from '../../kernel/ids.js';
import type { AccountOfCall } from '../accounts/account-of-call.js';
import { carrierOfAccount } from '../carriers.js';
import type { TelephonyDatabase } from '../database.js';
import { UnsafeCarrierRequest } from '../errors.js';
import type { CarrierApi, CarrierApis } from '../port.js';
import { isLegId, recordOfLeg } from './leg.js';
import type { WebLegDocument } from './leg-model.js';
import { createWebLegs, type WebLegs } from './legs.js';

/** The kind of this carrier, as call bindings store it. */
export const WEB = 'web';

/**
 * The carrier of calls from a browser in one mode. It has no server: media servers keep the browser's sockets and their
 * legs in the database, and this is the REST API over these legs.
 */
export function createWebCarrier({ legs, mode }: { legs: WebLegs; mode: Mode }): CarrierApi {
  async function read(legId: string): Promise<WebLegDocument | undefined> {
    if (!isLegId(legId)) throw new UnsafeCarrierRequest();
    const leg = await legs.find(legId);
    return leg?.mode === mode ? leg : undefined;
  }

  return {
    kind: WEB,
    capabilities: { canChangeTimeLimit: true },
    isCallId: isLegId,

    async dial() {
      const reason = 'A browser cannot be called. It opens a call with POST /web_calls.';
      return { outcome: 'refused', endReason: 'carrier_failed', rejection: { code: 'dial_unsupported', reason } };
    },

    async hangUp(legId) {
      const leg = await read(legId);
      if (leg !== undefined) await legs.end(legId, { at: await legs.now(), cause: 'service' });
    },

    async limitTo(legId, seconds) {
      if ((await read(legId)) !== undefined) await legs.limit(legId, seconds);
    },

    async fetch(legId) {
      const leg = await read(legId);
      // Store an end that only follows from the times, so that the call is billed once for the same seconds.
      return leg && recordOfLeg(await legs.settle(leg));
    },

    findPlaced: async () => [],
  };
}

/** A call at its carrier. */
export interface PlacedCall extends AccountOfCall {
  carrierSid: string;
}

/**
 * Returns the API of the carrier that has a call, with the call's account.
 * @throws CarrierAccountMissing if the account is not configured
 */
export type CarrierOfCall = (call: PlacedCall) => CarrierApi;

/** Returns a function that finds the carrier of a call by its account, or by the form of its id. */
export function createCarrierOfCall(carriers: CarrierApis, database: TelephonyDatabase): CarrierOfCall {
  const legs = createWebLegs(database);
  const web = { live: createWebCarrier({ legs, mode: 'live' }), test: createWebCarrier({ legs, mode: 'test' }) };
  return (call) => (isLegId(call.carrierSid) ? web[call.mode] : carrierOfAccount(carriers, call));
}
