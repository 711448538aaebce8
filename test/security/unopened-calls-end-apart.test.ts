import { legIdOf } from '../../src/telephony/web/leg.js';
import { useWebStack, type WebStack } from '../integration/web/web-stack';
import { eventually, type Customer } from '../support/http/harness.js';

jest.setTimeout(120_000);

let stack: WebStack;
let customer: Customer;
useWebStack((started) => ({ stack, customer } = started), {});

const CALLS = 20;

/**
 * Free accounts can request many calls in the browser at once and never open them. The end of a call takes several steps
 * of a worker, so that hundreds of ends in one second would delay the live calls of others until these are rejected.
 */
describe('calls that no browser opens', () => {
  it('end apart, also if they were requested together', async () => {
    await stack.service.accounts.setLimits(customer.account._id, { concurrentCalls: CALLS });
    const ids: string[] = [];
    // A slow machine may have no time for a call, and asks to try again.
    await eventually(async () => {
      const { status, json } = await stack.request(customer.testKey, { instruction: 'Ask for the day.' });
      if (status === 200) ids.push(String(json['call_id']));
      return ids.length >= CALLS;
    }, 100_000);
    const { webLegs, callRequests } = stack.service.database;
    const legs = await webLegs.find({ _id: { $in: ids.map(legIdOf) } }).lean();
    const waits = legs.map(({ createdAt, expiresAt }) => expiresAt.getTime() - createdAt.getTime());
    expect(waits).toHaveLength(CALLS);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(60_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(90_000);
    expect(mostWithin(waits, 5_000)).toBeLessThan(13);

    // The workflow, which would end them by its timer, waits as long as each token is valid.
    const requests = await callRequests.find({ _id: { $in: ids } }).lean();
    const limits = new Map(requests.map(({ _id, streamWithinMs = 0 }) => [legIdOf(_id), streamWithinMs]));
    for (const { _id, createdAt, expiresAt } of legs) {
      expect(limits.get(_id)).toBeGreaterThan(expiresAt.getTime() - createdAt.getTime());
    }
  });
});

/** Returns how many of these times lie within one window of this length, at most. */
function mostWithin(times: readonly number[], windowMs: number): number {
  return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length));
}
