import { createCallChecks } from '../../src/voice/tools/call-checks.js';
import { createToolQueues } from '../../src/voice/tools/tool-queues.js';

const TOO_MANY_CALLS = 'this call has made too many tool requests';
const TOO_MANY_VALUES = /^the arguments of the last tool calls had too many values/;
const none = { type: 'object', properties: {} };
/** An array whose values are compared with so many alternatives. */
const alternatives = (count: number) => ({
  type: 'object',
  properties: { a: { type: 'array', items: { anyOf: Array.from({ length: count }, () => ({})) } } },
});
const OFFERED = [
  { name: 'end_call', description: '', parameters: none },
  { name: 'transfer_call', description: '', parameters: none },
  { name: 'look_up', description: '', parameters: { ...none, required: ['order'] } },
  { name: 'compare', description: '', parameters: alternatives(189) },
];
/** About 19,000 steps. */
const COSTLY = { name: 'compare', arguments: { a: Array.from({ length: 100 }, () => 1) } };

function openChecks() {
  let ms = 0;
  const checks = createCallChecks({
    queues: createToolQueues(),
    user: { callId: 'call_1', accountId: 'acct_1', mode: 'live' },
    offered: OFFERED,
    now: () => ms,
  });
  const { signal } = new AbortController();
  return {
    pass: (seconds: number) => void (ms += seconds * 1_000),
    faultOf: (name: string, given: Record<string, unknown> = {}) => checks.faultOf({ name, arguments: given }, signal),
    compare: () => checks.faultOf(COSTLY, signal),
  };
}

describe('the tool calls of a phone call', () => {
  it('are at most a hundred, with those that are rejected, but the agent can always leave the phone call', async () => {
    const { faultOf } = openChecks();
    for (let count = 0; count < 50; count++) {
      expect(await faultOf('look_up')).toMatch(/^the arguments do not fit/);
      expect(await faultOf('invented')).toBe('unknown tool invented');
      expect(await faultOf('end_call', { reason: 'done' })).toMatch(/^the arguments do not fit/);
    }
    expect(await faultOf('look_up')).toBe(TOO_MANY_CALLS);
    expect(await faultOf('invented')).toBe(TOO_MANY_CALLS);
    expect(await faultOf('end_call')).toBeUndefined();
    expect(await faultOf('transfer_call')).toBeUndefined();
  });

  it('are rejected without validation when their arguments have taken too long, until time has passed', async () => {
    const { pass, faultOf, compare } = openChecks();
    expect(await compare()).toBeUndefined();
    expect(await compare()).toBeUndefined();
    expect(await compare()).toMatch(TOO_MANY_VALUES);
    expect(await faultOf('compare', { a: [1, 2, 3] })).toBeUndefined();
    pass(3);
    expect(await compare()).toMatch(TOO_MANY_VALUES);
    pass(2);
    expect(await compare()).toBeUndefined();
    expect(await compare()).toMatch(TOO_MANY_VALUES);
    pass(1_000);
    expect([await compare(), await compare()]).toEqual([undefined, undefined]);
    expect(await compare()).toMatch(TOO_MANY_VALUES);
  });
});
