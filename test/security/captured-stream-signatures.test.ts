import { openMediaFixture, type MediaFixture, type TestCall } from '../integration/voice/support/media-fixture';
import { openLine, type CarrierLine } from '../integration/voice/support/carrier-line';
import { newSid } from '../support/sids.js';
import { eventually } from '../support/http/harness.js';

let media: MediaFixture;
beforeAll(async () => {
  media = await openMediaFixture();
});
afterAll(() => media.close());

const resumptionsOf = async (call: TestCall) => (await media.results.find(call.callId))?.resumptions ?? 0;

/** Opens the call's first stream and waits until the first result of the session is stored. */
async function startSession(call: TestCall): Promise<CarrierLine> {
  const line = await media.openLine(call);
  await eventually(async () => (await media.results.find(call.callId)) !== null);
  return line;
}

/** Opens a stream with the captured signature of the call's first stream, which is valid for any stream number. */
async function openReplayedStream(
  call: TestCall,
  resumption: number | undefined,
  port = media.port,
): Promise<CarrierLine> {
  const socket = await media.dialIn(call, { port });
  return openLine(socket, call.carrierSid, newSid('MZ'), resumption);
}

/**
 * Asserts that the session continues: its audio still arrives, and no other stream has replaced the session's stream.
 */
async function expectUndisturbed(line: CarrierLine, call: TestCall): Promise<void> {
  const heard = line.heard.length;
  await eventually(async () => line.heard.length > heard + 10);
  expect(line.socket.readyState).toBe(line.socket.OPEN);
  expect(await resumptionsOf(call)).toBe(0);
}

describe('a captured stream signature', () => {
  it.each([1, 3, 999])(
    'does not replace the live stream with stream number %d, which was not granted',
    async (number) => {
      const call = await media.placeCall();
      const line = await startSession(call);
      const thief = await openReplayedStream(call, number);
      expect(await thief.closed).toBe(1008);
      expect(thief.events).toEqual([]);
      await expectUndisturbed(line, call);
      line.hangUp();
    },
    60_000,
  );

  it('does not replace it in another media process', async () => {
    const { port } = await media.startAnother();
    const call = await media.placeCall();
    const line = await startSession(call);
    const thief = await openReplayedStream(call, 1, port);
    expect(await thief.closed).toBe(1008);
    await expectUndisturbed(line, call);
    line.hangUp();
  }, 60_000);

  it('is rejected with a number that was granted to another call, or above the granted one', async () => {
    const [call, other] = [await media.placeCall(), await media.placeCall()];
    const line = await startSession(call);
    await media.grant(other, 1);
    expect(await (await openReplayedStream(call, 1)).closed).toBe(1008);
    await expectUndisturbed(line, call);
    await media.grant(call, 1);
    expect(await (await openReplayedStream(call, 2)).closed).toBe(1008);
    await expectUndisturbed(line, call);
    line.hangUp();
  }, 60_000);

  it('is rejected with a number that a stream has used', async () => {
    const call = await media.placeCall();
    const line = await startSession(call);
    line.break();
    const second = await media.resumeLine(call, 1);
    await eventually(async () => (await resumptionsOf(call)) === 1);
    for (const number of [undefined, 1, 2]) expect(await (await openReplayedStream(call, number)).closed).toBe(1008);
    const heard = second.heard.length;
    await eventually(async () => second.heard.length > heard + 10);
    second.hangUp();
  }, 60_000);

  it('does not start a session as a later stream before the first stream', async () => {
    const call = await media.placeCall();
    const thief = await openReplayedStream(call, 1);
    expect(await thief.closed).toBe(1008);
    expect(await media.results.find(call.callId)).toBeNull();
    const line = await startSession(call);
    await expectUndisturbed(line, call);
    line.hangUp();
  }, 60_000);

  it('does not start a second session by arriving at the same moment as the carrier', async () => {
    const call = await media.placeCall();
    const dialed = await Promise.allSettled(Array.from({ length: 5 }, () => media.dialIn(call)));
    const sockets = dialed.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const lines = sockets.map((socket) => openLine(socket, call.carrierSid, newSid('MZ')));
    await eventually(async () => lines.some((line) => line.heard.length > 10));
    const open = lines.filter(({ socket }) => socket.readyState === socket.OPEN);
    expect(open).toHaveLength(1);
    open[0]?.hangUp();
  }, 60_000);
});
