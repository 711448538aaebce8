import { INSTRUCTION, PHONE_NUMBER, SID, placeCall, startHarness, startReceiver, type Harness } from './harness.js';
import { historyOf } from './history-of.js';

const FORWARDING_NUMBER = '+12025550177';

let harness: Harness;
let receiver: Awaited<ReturnType<typeof startReceiver>>;

beforeAll(async () => {
  harness = await startHarness();
  receiver = await startReceiver();
}, 120_000);
afterAll(async () => {
  await receiver?.close();
  await harness?.stop();
});

describe('the history of a call', () => {
  it('has at most 50 events and 8 kB for 10 s', async () => {
    const { call } = await placeCall(harness, { webhookUrl: receiver.url });
    await call.sleep(2_000);
    await call.answer();
    await call.startStream();
    await call.sleep(10_000);
    await call.endStream();
    await call.end('completed', { durationSeconds: 10 });
    await call.result();
    const { events, bytes } = await historyOf(call, harness);
    process.stderr.write(`history of a 10 s call: ${events} events, ${bytes} bytes\n`);
    expect(events).toBeLessThanOrEqual(50);
    expect(bytes).toBeLessThanOrEqual(8_000);
  });

  it('has no phone number, instruction, webhook URL or spoken text', async () => {
    const { call } = await placeCall(harness, { webhookUrl: receiver.url });
    await call.answer();
    await call.startStream();
    await call.endStream();
    await call.end('completed', { durationSeconds: 3 });
    await call.result();
    const { text } = await historyOf(call, harness);
    expect(text).toContain(call.callId);
    for (const secret of [PHONE_NUMBER, PHONE_NUMBER.slice(1), INSTRUCTION, 'canary', receiver.url]) {
      expect(text).not.toContain(secret);
    }
  });

  it('has no phone number of the carrier’s record, which the workflow fetches if no callback arrives', async () => {
    const { call } = await placeCall(harness, { webhookUrl: receiver.url });
    await call.answer();
    const now = await call.now();
    const numbers = { to: PHONE_NUMBER, forwardedFrom: FORWARDING_NUMBER };
    const times = { createdAt: now, startedAt: now, endedAt: now + 9_000, durationSeconds: 9 };
    harness.carrier.record = { carrierSid: SID, direction: 'outbound', status: 'completed', ...numbers, ...times };
    await call.startStream();
    await call.endStream();
    await expect(call.result()).resolves.toMatchObject({ status: 'COMPLETED', billedSeconds: 9 });
    const { text } = await historyOf(call, harness);
    expect(text).toContain('durationSeconds');
    for (const number of Object.values(numbers)) expect(text).not.toContain(number.slice(1));
  });
});
