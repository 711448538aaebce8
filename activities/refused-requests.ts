import { ApplicationFailure } from '@temporalio/common';
import type { Carrier } from '../src/telephony/port.js';
import { CarrierRequestRefused } from '../src/telephony/twilio/errors.js';

/** The carrier, of which Temporal does not repeat a request that its client refuses to send. */
export function withoutVainRetries(carrier: Carrier): Carrier {
  return {
    isCallId: (text) => carrier.isCallId(text),
    dial: (request) => carrier.dial(request),
    hangUp: (carrierSid) => final(carrier.hangUp(carrierSid)),
    limitTo: (carrierSid, seconds) => final(carrier.limitTo(carrierSid, seconds)),
    fetch: (carrierSid) => final(carrier.fetch(carrierSid)),
    findPlaced: (query) => final(carrier.findPlaced(query)),
  };
}

async function final<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof CarrierRequestRefused) throw ApplicationFailure.nonRetryable(error.message, error.name);
    throw error;
  }
}
