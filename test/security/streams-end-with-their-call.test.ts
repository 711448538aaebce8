import { openMediaFixture, type MediaFixture, type TestCall } from '../integration/voice/support/media-fixture';
import { eventually } from '../support/http/harness.js';

/** In this test, the media server checks more often which calls have ended. All other times are as in production. */
const READ_EVERY_MS = 200;

let media: MediaFixture;
beforeAll(async () => {
  media = await openMediaFixture({ timings: { endingsEveryMs: READ_EVERY_MS } });
});
afterAll(() => media.close());

/** Updates the call's read model, as its workflow does. */
const setStatus = (call: TestCall, status: string) =>
  media.database.calls.collection.updateOne({ _id: call.callId as never }, { $set: { status } }, { upsert: true });

async function startSession(status = 'IN_PROGRESS') {
  const call = await media.placeCall();
  await setStatus(call, status);
  const line = await media.openLine(call);
  await eventually(async () => line.heard.length > 10);
  return { call, line };
}

describe('the media stream of a call', () => {
  it.each(['COMPLETED', 'FAILED', 'CANCELLED'])(
    'is closed once the call is %s',
    async (status) => {
      const [over, other] = [await startSession(), await startSession()];
      await setStatus(over.call, status);
      const late = new Promise((resolve) => setTimeout(() => resolve('still open'), 20_000).unref());
      expect(await Promise.race([over.line.closed, late])).toBe(1000);
      // The result of the ended call, with its transcript so far, is stored as complete.
      await eventually(async () => (await media.results.find(over.call.callId))?.endedAt !== undefined);
      const heard = other.line.heard.length;
      await eventually(async () => other.line.heard.length > heard + 10);
      other.line.hangUp();
      await other.line.closed;
    },
    60_000,
  );

  it('stays open while the call is not in the read model yet', async () => {
    const call = await media.placeCall();
    const line = await media.openLine(call);
    await eventually(async () => line.heard.length > 10);
    await new Promise((resolve) => setTimeout(resolve, READ_EVERY_MS * 5));
    expect(line.socket.readyState).toBe(line.socket.OPEN);
    line.hangUp();
    await line.closed;
  }, 60_000);
});
