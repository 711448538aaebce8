import { openMediaFixture, type MediaFixture, type TestCall } from '../integration/voice/support/media-fixture';
import { eventually } from '../support/http/harness.js';

/** The ends of calls are read this often here; what a media server does by itself takes no longer than in production. */
const READ_EVERY_MS = 200;

let media: MediaFixture;
beforeAll(async () => {
  media = await openMediaFixture({ timings: { endingsEveryMs: READ_EVERY_MS } });
});
afterAll(() => media.close());

/** Writes the call's read model, as its workflow does. */
const show = (call: TestCall, status: string) =>
  media.database.calls.collection.updateOne({ _id: call.callId as never }, { $set: { status } }, { upsert: true });

async function talking(status = 'IN_PROGRESS') {
  const call = await media.placeCall();
  await show(call, status);
  const line = await media.openLine(call);
  await eventually(async () => line.heard.length > 10);
  return { call, line };
}

describe('the media stream of a call', () => {
  it.each(['COMPLETED', 'FAILED', 'CANCELLED'])(
    'never outlives the call, once it is %s',
    async (status) => {
      const [over, other] = [await talking(), await talking()];
      await show(over.call, status);
      const late = new Promise((resolve) => setTimeout(() => resolve('still open'), 20_000).unref());
      expect(await Promise.race([over.line.closed, late])).toBe(1000);
      // What was said until then is kept.
      await eventually(async () => (await media.results.find(over.call.callId))?.endedAt !== undefined);
      const heard = other.line.heard.length;
      await eventually(async () => other.line.heard.length > heard + 10);
      other.line.hangUp();
      await other.line.closed;
    },
    60_000,
  );

  it('goes on while the read model has not heard of the call', async () => {
    const call = await media.placeCall();
    const line = await media.openLine(call);
    await eventually(async () => line.heard.length > 10);
    await new Promise((resolve) => setTimeout(resolve, READ_EVERY_MS * 5));
    expect(line.socket.readyState).toBe(line.socket.OPEN);
    line.hangUp();
    await line.closed;
  }, 60_000);
});
