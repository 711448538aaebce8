import type { Mode } from '../kernel/ids.js';
import { report } from '../platform/telemetry/measurements.js';
import { inSpan } from '../platform/telemetry/spans.js';
import type { Carrier, DialOutcome } from './port.js';

/** Reports the outcome and duration of each request to the carrier. */
export function withReports(carrier: Carrier, mode: Mode): Carrier {
  const { kind } = carrier;
  const account = carrier.account?.name ?? '';

  async function timed<T>(
    operation: string,
    request: () => Promise<T>,
    outcomeOf: (response: T) => string = () => 'ok',
  ): Promise<T> {
    const startedAt = performance.now();
    let outcome = 'failed';
    try {
      const facts = { carrier: kind, operation };
      return await inSpan(`carrier ${operation}`, { kind: 'client', facts }, async (span) => {
        const response = await request();
        outcome = outcomeOf(response);
        span?.add({ outcome });
        return response;
      });
    } finally {
      const seconds = (performance.now() - startedAt) / 1_000;
      report('carrierRequest', { mode, carrier: kind, account, operation, outcome, seconds });
    }
  }

  return {
    ...carrier,
    dial: (request) => timed('dial', () => carrier.dial(request), dialOutcome),
    hangUp: (carrierSid) => timed('hang_up', () => carrier.hangUp(carrierSid)),
    limitTo: (carrierSid, seconds) => timed('limit', () => carrier.limitTo(carrierSid, seconds)),
    fetch: (carrierSid) => timed('fetch', () => carrier.fetch(carrierSid)),
    findPlaced: (query) => timed('find', () => carrier.findPlaced(query)),
  };
}

/** Calls that the carrier queues for so long exceed its rate. Shorter waits only even out calls that arrive unevenly. */
const QUEUED_FROM_MS = 1_000;

/**
 * Sets apart calls that the carrier dials only later, and rejections for which the number is the reason. Other
 * rejections affect many calls, and the operator must act.
 */
function dialOutcome(dialed: DialOutcome): string {
  if (dialed.outcome === 'accepted') return (dialed.queuedMs ?? 0) < QUEUED_FROM_MS ? 'accepted' : 'queued';
  if (dialed.outcome !== 'refused') return dialed.outcome;
  const { endReason, rejection } = dialed;
  const isOfNumber = endReason === 'invalid_number' || (endReason === 'rejected' && rejection?.remedy === undefined);
  return isOfNumber ? 'number_refused' : dialed.outcome;
}
