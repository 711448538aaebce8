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

/** On a busy machine an answer may be 503; the key makes it the same call when it is asked for again. */
async function place(key: string, n: number) {
  return eventually(async () => {
    const answer = await service.place(key, order(n), { 'Idempotency-Key': `call ${n}` });
    return answer.status !== 503 && answer;
  });
}

describe('a live call on a real carrier', () => {
  it('is placed once more than the account may, and refused', async () => {
    const { account, liveKey, testKey } = await service.customer();
    // A repeat is the same call.
    for (const n of [0, 1, 1]) expect((await place(liveKey, n)).status).toBe(200);
    const refused = await place(liveKey, 2);
    expectError(refused, 403, 'SPEND_LIMIT_EXCEEDED', /2 live calls of this UTC day.*next day/);
    expect(refused.json).toMatchObject({ limit: LIMIT });
    expect((await place(testKey, 3)).status).toBe(200);
    expect((await place((await service.customer()).liveKey, 4)).status).toBe(200);
    await service.accounts.setLimits(account._id, { liveCallsPerDay: 'none' });
    expect((await place(liveKey, 5)).status).toBe(200);
  }, 120_000);

  it('counts with its transfer, and neither counts when it is not placed', async () => {
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

  it('is counted exactly, however many ask at once', async () => {
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
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(n)));
    expect(answers.filter((refused) => refused === undefined)).toHaveLength(LIMIT);
  });

  it('is not bounded on the simulated carrier', async () => {
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
