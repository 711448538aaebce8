import { report } from '../platform/telemetry/measurements.js';
import { inSpan } from '../platform/telemetry/spans.js';
import type { Carrier } from './port.js';

/** Reports the outcome and duration of each request to the carrier. */
export function withReports(carrier: Carrier): Carrier {
  const { kind } = carrier;

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
      report('carrierRequest', { carrier: kind, operation, outcome, seconds: (performance.now() - startedAt) / 1_000 });
    }
  }

  return {
    ...carrier,
    dial: (request) =>
      timed(
        'dial',
        () => carrier.dial(request),
        ({ outcome }) => outcome,
      ),
    hangUp: (carrierSid) => timed('hang_up', () => carrier.hangUp(carrierSid)),
    limitTo: (carrierSid, seconds) => timed('limit', () => carrier.limitTo(carrierSid, seconds)),
    fetch: (carrierSid) => timed('fetch', () => carrier.fetch(carrierSid)),
    findPlaced: (query) => timed('find', () => carrier.findPlaced(query)),
  };
}
