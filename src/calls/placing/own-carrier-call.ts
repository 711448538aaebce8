import type { PhoneNumbers } from '../../agents/numbers/phone-numbers.js';
import { ServiceError } from '../../kernel/errors.js';
import { unavailable, within } from '../../platform/http/deadline.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { ArrivedCall } from '../../telephony/callbacks.js';
import type { CarrierApis, CarrierCall } from '../../telephony/port.js';

export interface OwnCarrierCallDeps {
  carriers: CarrierApis;
  phoneNumbers: PhoneNumbers;
  logger: Logger;
}

/** Statuses of a call that can still have a media stream. */
const LIVE: ReadonlySet<CarrierCall['status']> = new Set(['queued', 'ringing', 'in-progress']);

/**
 * Checks with the carrier that an inbound call reported with an API key is in progress and to, or forwarded from, a
 * number of the key's account. Requests signed by the carrier, and calls of the simulated carrier, need no check. Every
 * rejection has the same error, so that it reveals nothing about other accounts' calls.
 */
export function createRequireOwnCarrierCall({ carriers, phoneNumbers, logger }: OwnCarrierCallDeps) {
  async function isOwn(accountId: string, number: string | undefined): Promise<boolean> {
    return number !== undefined && (await phoneNumbers.find(number))?.accountId === accountId;
  }

  /**
   * @param deadline ms since the epoch
   * @throws ServiceError FORBIDDEN; SERVICE_UNAVAILABLE when the carrier does not answer in time
   */
  return async function requireOwnCarrierCall(arrived: ArrivedCall, deadline: number): Promise<void> {
    const { forwarder, mode } = arrived;
    const { account } = forwarder;
    if (account === undefined || carriers[mode].kind === 'simulator') return;
    let call: CarrierCall | undefined;
    try {
      call = await within(deadline, carriers[mode].fetch(arrived.carrierSid));
    } catch (error) {
      logger.error({ err: error }, 'the carrier could not be asked for an inbound call');
      throw unavailable();
    }
    const isTheOne = call?.direction === 'inbound' && LIVE.has(call.status) && call.to === arrived.to;
    const forwardedFrom = call?.forwardedFrom === arrived.forwardedFrom ? arrived.forwardedFrom : undefined;
    const { _id: accountId } = account;
    if (isTheOne && (await within(deadline, isOwn(accountId, arrived.to)))) return;
    if (isTheOne && (await within(deadline, isOwn(accountId, forwardedFrom)))) return;
    throw new ServiceError('FORBIDDEN', arrived.wording.notOwn);
  };
}
