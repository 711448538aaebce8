import { createCallRequests } from '../../../src/calls/call-requests.js';
import { createDecideWithRetries } from '../../../src/calls/callbacks/decide-with-retries.js';
import type { Config } from '../../../src/platform/config/config.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { createCarrierBindings } from '../../../src/telephony/carrier-bindings.js';
import { eventually } from '../../support/http/harness.js';
import { startRingingCalls, type RingingCalls } from './support/ringing-calls';

let ringing: RingingCalls;

beforeAll(async () => {
  ringing = await startRingingCalls();
});
afterAll(() => ringing.close());

function carrierIn({ carriers }: Config) {
  const account = { name: 'live', id: carriers.live.carrierAccountId, isDefault: true };
  return { kind: 'twilio', account, isCallId: () => true };
}

/** Asks for an instruction that cannot be decided. @param inMs when the response is due */
async function failToDecide(inMs: number): Promise<string> {
  const { callId, sid } = await ringing.placeRingingCall();
  const { database, gateway, config } = ringing.service;
  const decideWithRetries = createDecideWithRetries({
    gateway,
    requests: createCallRequests(database),
    bindings: createCarrierBindings(database),
    logger: createLogger({ role: 'test', level: 'silent' }),
  });
  const instruction = await decideWithRetries(
    {
      callId,
      carrierCall: { mode: 'live', carrier: carrierIn(config), carrierSid: sid },
      context: { deadline: Date.now() + inMs, requestId: 'req_1' },
      lastStream: 0,
      isConversationOver: false,
    },
    () => Promise.reject(new Error('unavailable')),
  );
  expect(instruction.kind).toBe('apology');
  return callId;
}

const bindingOf = (callId: string) => createCarrierBindings(ringing.service.database).find(callId);
const givenUpAt = async (callId: string) => (await bindingOf(callId))?.givenUpAt;

describe('a call about which a process cannot decide', () => {
  it('is given up shortly before the response is due', async () => {
    const callId = await failToDecide(1_500);
    expect(await eventually(async () => (await givenUpAt(callId)) !== undefined)).toBe(true);
  });

  it('is recorded as given up after its last stream, even if an earlier record arrives later', async () => {
    const { callId, sid } = await ringing.placeRingingCall();
    const bindings = createCarrierBindings(ringing.service.database);
    await bindings.bind(callId, sid, carrierIn(ringing.service.config));
    for (const after of [1, 2, 0]) await bindings.recordGivenUp(callId, sid, { at: new Date(after), after });
    expect(await bindingOf(callId)).toMatchObject({ givenUpAt: new Date(2), givenUpAfter: 2 });
  });

  it('continues if the process was frozen until the carrier has asked another one', async () => {
    const callId = await failToDecide(-5_000);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await givenUpAt(callId)).toBeUndefined();
    expect((await ringing.callOf(callId))?.status).toBe('RINGING');
  });
});
