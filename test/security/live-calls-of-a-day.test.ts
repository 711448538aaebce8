import { createCallGate } from '../../src/calls/wiring.js';
import { eventually, expectError, startService, type Service } from '../support/http/harness.js';
import { newCallId } from '../support/store/test-database.js';
import { REAL_CARRIER } from './support/real-carrier.js';

const LIMIT = 2;
let service: Service;
beforeAll(async () => {
  service = await startService({ env: { ...REAL_CARRIER, LIVE_CALLS_PER_DAY: String(LIMIT) } });
}, 120_000);
afterAll(() => service.close());

const order = (n: number) => ({ to_phone_number: `+1202555014${n}`, instruction: 'Hello.' });

/**
 * Places a call. A busy machine may respond with 503, and then the request is repeated; with the same idempotency key
 * it means the same call.
 */
async function place(key: string, n: number) {
  return eventually(async () => {
    const response = await service.place(key, order(n), { 'Idempotency-Key': `call ${n}` });
    return response.status !== 503 && response;
  });
}

describe('a live call on a real carrier', () => {
  it('is placed up to the account’s daily limit and then rejected', async () => {
    const { account, liveKey, testKey } = await service.customer();
    // The request that is sent twice means one call.
    for (const n of [0, 1, 1]) expect((await place(liveKey, n)).status).toBe(200);
    const rejection = await place(liveKey, 2);
    expectError(rejection, 403, 'SPEND_LIMIT_EXCEEDED', /2 live calls, transfers included, of this UTC day.*next day/);
    expect(rejection.json).toMatchObject({ limit: LIMIT });
    expect((await place(testKey, 3)).status).toBe(200);
    expect((await place((await service.customer()).liveKey, 4)).status).toBe(200);
    await service.accounts.setLimits(account._id, { liveCallsPerDay: 'none' });
    expect((await place(liveKey, 5)).status).toBe(200);
  }, 120_000);

  it('counts together with its transfer, and neither counts when it is not placed', async () => {
    const { account } = await service.customer();
    const { config, database } = service;
    const gate = createCallGate({ config, database });
    const dial = (leg: 'call' | 'transfer', callId = newCallId()) =>
      ({ account, mode: 'live', callId, leg, to: '+12025550142' }) as const;
    const call = dial('call');
    expect(await gate.admit(call)).toBeUndefined();
    const transfer = dial('transfer', call.callId);
    expect(await gate.count(transfer)).toBeUndefined();
    expect(await gate.count(dial('transfer'))).toMatchObject({ code: 'SPEND_LIMIT_EXCEEDED' });
    await gate.release(transfer);
    expect(await gate.admit(dial('call'))).toBeUndefined();
    expect(await gate.admit(dial('call'))).toMatchObject({ code: 'SPEND_LIMIT_EXCEEDED' });
  });

  it('is counted exactly, however many requests arrive at once', async () => {
    const { account } = await service.customer();
    const { config, database } = service;
    const ask = (n: number) =>
      createCallGate({ config, database }).admit({
        account,
        mode: 'live',
        callId: newCallId(),
        leg: 'call',
        to: `+120255501${10 + n}`,
      });
    const responses = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(n)));
    expect(responses.filter((rejection) => rejection === undefined)).toHaveLength(LIMIT);
  });

  it('is not limited on the simulated carrier', async () => {
    const { account } = await service.customer();
    const { config, database } = service;
    const { liveLimits: _, ...calls } = config.calls;
    const gate = createCallGate({ config: { ...config, calls: { ...calls, liveLimits: undefined } }, database });
    for (let n = 0; n <= LIMIT; n++) {
      const dial = { account, mode: 'live', callId: newCallId(), leg: 'call', to: '+12025550142' } as const;
      expect(await gate.admit(dial)).toBeUndefined();
    }
  });
});
