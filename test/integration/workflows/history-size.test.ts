import {
  INSTRUCTION,
  PHONE_NUMBER,
  placeCall,
  startHarness,
  startReceiver,
  type Harness,
  type TestCall,
} from './harness.js';

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

async function historyOf(call: TestCall) {
  const history = await harness.environment.client.workflow.getHandle(call.callId).fetchHistory();
  const { temporal } = await import('@temporalio/proto');
  const bytes = temporal.api.history.v1.History.encode(temporal.api.history.v1.History.fromObject(history)).finish();
  return { events: history.events?.length ?? 0, bytes: bytes.length, text: Buffer.from(bytes).toString('latin1') };
}

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
    const { events, bytes } = await historyOf(call);
    process.stderr.write(`history of a 10 s call: ${events} events, ${bytes} bytes\n`);
    expect(events).toBeLessThanOrEqual(50);
    expect(bytes).toBeLessThanOrEqual(8_000);
  });

  it('has at most 100 events for 4 hours', async () => {
    const { call } = await placeCall(harness, { maxDurationSeconds: 14_400, webhookUrl: receiver.url });
    harness.carrier.onHangUp = async () => {
      harness.carrier.onHangUp = undefined;
      await call.endStream('carrier_stop');
      await call.end('completed', { durationSeconds: 14_400 });
    };
    await call.answer();
    await call.startStream();
    await call.result();
    const { events, bytes } = await historyOf(call);
    process.stderr.write(`history of a 4 h call: ${events} events, ${bytes} bytes\n`);
    expect(events).toBeLessThanOrEqual(100);
  });

  it('has no phone number, instruction, webhook URL or spoken text', async () => {
    const { call } = await placeCall(harness, { webhookUrl: receiver.url });
    await call.answer();
    await call.startStream();
    await call.endStream();
    await call.end('completed', { durationSeconds: 3 });
    await call.result();
    const { text } = await historyOf(call);
    expect(text).toContain(call.callId);
    for (const secret of [PHONE_NUMBER, PHONE_NUMBER.slice(1), INSTRUCTION, 'canary', receiver.url]) {
      expect(text).not.toContain(secret);
    }
  });
});
