import type { PhoneNumbers } from '../../agents/numbers/phone-numbers.js';
import { ServiceError } from '../../kernel/errors.js';
import type { Config } from '../../platform/config/config.js';
import { serviceUnavailable, withDeadline } from '../../platform/http/deadline.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { carrierOfAccount } from '../../telephony/carriers.js';
import type { InboundCall } from '../../telephony/callbacks.js';
import type { CarrierApis, CarrierCall } from '../../telephony/port.js';
import { createCarrierLookUps } from './carrier-look-ups.js';

export interface OwnCarrierCallDeps {
  config: Config;
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
export function createRequireOwnCarrierCall({ config, carriers, phoneNumbers, logger }: OwnCarrierCallDeps) {
  const lookUps = createCarrierLookUps();

  async function isOwn(accountId: string, number: string | undefined): Promise<boolean> {
    return number !== undefined && (await phoneNumbers.find(number))?.accountId === accountId;
  }

  /** Finds out which of the reported numbers belong to the account. */
  async function findOwnNumbers(accountId: string, { to, forwardedFrom }: InboundCall) {
    const [isTo, isForwarder] = await Promise.all([isOwn(accountId, to), isOwn(accountId, forwardedFrom)]);
    return { isTo, isForwarder };
  }

  async function lookUp({
    callId,
    ...p
  }: Parameters<typeof lookUps.find>[0] & { callId: string }): Promise<CarrierCall | undefined> {
    try {
      return await lookUps.find(p);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'RATE_LIMIT_EXCEEDED') throw error;
      logger.error({ callId, err: error }, 'inbound call could not be looked up at the carrier');
      throw serviceUnavailable();
    }
  }

  /**
   * @param deadline ms since the epoch
   * @throws ServiceError FORBIDDEN; RATE_LIMIT_EXCEEDED when too many calls of the account are being checked;
   * SERVICE_UNAVAILABLE when the carrier does not respond in time
   */
  return async function requireOwnCarrierCall(callId: string, inbound: InboundCall, deadline: number): Promise<void> {
    const { forwarder, mode, carrierSid } = inbound;
    const { account } = forwarder;
    if (account === undefined || config.carriers[mode].isSimulated) return;
    const carrier = carrierOfAccount(carriers, { mode, carrierAccountId: inbound.carrier.account?.id });
    const { _id: accountId } = account;
    // First what costs no request to the carrier.
    const own = await withDeadline(deadline, findOwnNumbers(accountId, inbound));
    if (own.isTo || own.isForwarder) {
      const call = await lookUp({ callId, accountId, carrier, carrierSid, deadline });
      const isReported = call?.direction === 'inbound' && LIVE.has(call.status) && call.to === inbound.to;
      const isForwarded = own.isForwarder && call?.forwardedFrom === inbound.forwardedFrom;
      if (isReported && (own.isTo || isForwarded)) return;
    }
    throw new ServiceError('FORBIDDEN', inbound.errorMessages.notOwnCall);
  };
}
