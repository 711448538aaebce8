import type { PhoneNumbers } from '../../agents/numbers/phone-numbers.js';
import { ServiceError } from '../../kernel/errors.js';
import { serviceUnavailable, withDeadline } from '../../platform/http/deadline.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { InboundCall } from '../../telephony/callbacks.js';
import type { CarrierApis, CarrierCall } from '../../telephony/port.js';

export interface OwnCarrierCallDeps {
  carriers: CarrierApis;
  phoneNumbers: PhoneNumbers;
  logger: Logger;
}

/** Statuses of a call that can still have a media stream. */
const LIVE: ReadonlySet<CarrierCall['status']> = new Set(['queued', 'ringing', 'in-progress']);

/**
 * Checks an inbound call that was reported with an API key: at the carrier it must be in progress, and to, or forwarded
 * from, a number of the key's account. Requests signed by the carrier, and simulated calls, need no check. All
 * rejections have the same error, so that they reveal nothing about other accounts' calls.
 */
export function createRequireOwnCarrierCall({ carriers, phoneNumbers, logger }: OwnCarrierCallDeps) {
  async function isOwn(accountId: string, number: string | undefined): Promise<boolean> {
    return number !== undefined && (await phoneNumbers.find(number))?.accountId === accountId;
  }

  /**
   * @param deadline ms since the epoch
   * @throws ServiceError FORBIDDEN; SERVICE_UNAVAILABLE when the carrier does not respond in time
   */
  return async function requireOwnCarrierCall(inbound: InboundCall, deadline: number): Promise<void> {
    const { forwarder, mode } = inbound;
    const { account } = forwarder;
    if (account === undefined || carriers[mode].kind === 'simulator') return;
    let call: CarrierCall | undefined;
    try {
      call = await withDeadline(deadline, carriers[mode].fetch(inbound.carrierSid));
    } catch (error) {
      logger.error({ err: error }, 'inbound call could not be looked up at the carrier');
      throw serviceUnavailable();
    }
    const isReportedCall = call?.direction === 'inbound' && LIVE.has(call.status) && call.to === inbound.to;
    const forwardedFrom = call?.forwardedFrom === inbound.forwardedFrom ? inbound.forwardedFrom : undefined;
    const { _id: accountId } = account;
    if (isReportedCall && (await withDeadline(deadline, isOwn(accountId, inbound.to)))) return;
    if (isReportedCall && (await withDeadline(deadline, isOwn(accountId, forwardedFrom)))) return;
    throw new ServiceError('FORBIDDEN', inbound.errorMessages.notOwnCall);
  };
}
