import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, openMediaFixture, type MediaFixture } from './support/media-fixture';
import { startGate } from './support/gate';

const GRACE_MS = 3_000;

async function readiness(media: MediaFixture): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`http://127.0.0.1:${media.port}/health/ready`);
  return { status: response.status, body: await response.json() };
}

const READY = { status: 200, body: { status: 'ready', mongodb: 'ok' } };

describe('a media process that stops', () => {
  let media: MediaFixture;
  beforeEach(async () => {
    media = await openMediaFixture({ timings: { shutdownGraceMs: GRACE_MS } });
  });
  afterEach(() => media.close());

  it('is not ready and rejects new streams, while its calls continue until they end by themselves', async () => {
    expect(await readiness(media)).toEqual(READY);
    const call = await media.placeCall();
    const line = await media.openLine(call);
    await eventually(async () => (await media.results.find(call.callId)) !== null);
    let isStopped = false;
    const stopped = media.server.close().then(() => (isStopped = true));
    await sleep(200);
    expect(await readiness(media)).toEqual({ status: 503, body: { status: 'stopping', mongodb: 'ok' } });
    const live = await fetch(`http://127.0.0.1:${media.port}/health/live`);
    expect(live.status).toBe(200);
    const other = await media.placeCall();
    expect(
      await media.dialIn(other).then(
        () => 'accepted',
        (error: unknown) => String(error),
      ),
    ).toContain('503');
    expect(isStopped).toBe(false);
    line.hangUp();
    await stopped;
    expect(await media.results.find(call.callId)).toMatchObject({ endReason: 'carrier_stop' });
    const binding = await media.database.carrierBindings.findById(call.callId).lean();
    expect(binding?.plannedStream).toBeUndefined();
  }, 60_000);

  it('records the streams of the other calls before it closes them, so that they are resumed as planned', async () => {
    const call = await media.placeCall();
    const line = await media.resumeLine(call, 2);
    await eventually(async () => (await media.results.find(call.callId)) !== null);
    const planned = line.closed.then(async (code) => {
      const binding = await media.database.carrierBindings.findById(call.callId).lean();
      return { code, stream: binding?.plannedStream };
    });
    await media.server.close();
    expect(await planned).toEqual({ code: 1012, stream: 2 });
  }, 60_000);
});

describe('a media process', () => {
  it('is not ready and rejects streams while it carries as many calls as it may', async () => {
    const media = await openMediaFixture({ env: { MEDIA_MAX_CALLS: '1' } });
    try {
      const line = await media.openLine(await media.placeCall());
      expect(await readiness(media)).toEqual({ status: 503, body: { status: 'full', mongodb: 'ok' } });
      const other = await media.placeCall();
      expect(
        await media.dialIn(other).then(
          () => 'accepted',
          (error: unknown) => String(error),
        ),
      ).toContain('503');
      line.hangUp();
      await eventually(async () => (await readiness(media)).status === 200);
    } finally {
      await media.close();
    }
  }, 60_000);

  it('is not ready while MongoDB is unavailable', async () => {
    const gate = await startGate((process.env['TEST_MONGODB_URI'] ?? '').replace('mongodb://', ''));
    const media = await openMediaFixture({ mongodbUri: `mongodb://${gate.address}` });
    try {
      gate.shut();
      const away = { status: 503, body: { status: 'unavailable', mongodb: 'away' } };
      await eventually(async () => (await readiness(media)).status === 503);
      expect(await readiness(media)).toEqual(away);
      gate.open();
      await eventually(async () => (await readiness(media)).status === 200, 30_000);
    } finally {
      gate.open();
      await media.close();
      await gate.close();
    }
  }, 60_000);
});
