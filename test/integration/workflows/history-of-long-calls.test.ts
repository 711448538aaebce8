import { placeCall, startHarness, startReceiver, type Harness } from './harness.js';
import { historyOf } from './history-of.js';

/**
 * Five windows, as in a call of four hours, but short ones, on the development server. The server with the skipping clock
 * would add a workflow task without a cause whenever an activity completes during another workflow task.
 */
const WINDOWS = [4, 4, 4, 4, 4];

let harness: Harness;
let receiver: Awaited<ReturnType<typeof startReceiver>>;

beforeAll(async () => {
  harness = await startHarness({ realTime: true });
  receiver = await startReceiver();
}, 120_000);
afterAll(async () => {
  await receiver?.close();
  await harness?.stop();
});

it('the history of a call that takes all hold windows has at most 100 events', async () => {
  const maxDurationSeconds = WINDOWS.reduce((sum, seconds) => sum + seconds);
  const { call } = await placeCall(harness, { maxDurationSeconds, windows: WINDOWS, webhookUrl: receiver.url });
  harness.carrier.onHangUp = async () => {
    harness.carrier.onHangUp = undefined;
    await call.endStream('carrier_stop');
    await call.end('completed', { durationSeconds: maxDurationSeconds });
  };
  await call.answer();
  await call.startStream();
  expect(await call.result()).toMatchObject({ endReason: 'max_duration', billedSeconds: maxDurationSeconds });
  const { events, bytes, text } = await historyOf(call, harness);
  process.stderr.write(`history of a call with all windows: ${events} events, ${bytes} bytes\n`);
  expect(text.split('extendHold').length - 1).toBe(WINDOWS.length - 1);
  expect(events).toBeLessThanOrEqual(100);
}, 60_000);
