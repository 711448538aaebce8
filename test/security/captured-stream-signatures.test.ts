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

/** A talk that has begun, as its stored result says. */
async function talking(call: TestCall): Promise<CarrierLine> {
  const line = await media.openLine(call);
  await eventually(async () => (await media.results.find(call.callId)) !== null);
  return line;
}

/** A stream of whoever captured the signature of the call's first: that one is for any number. */
async function replayed(call: TestCall, resumption: number | undefined, port = media.port): Promise<CarrierLine> {
  const socket = await media.dialIn(call, { port });
  return openLine(socket, call.carrierSid, newSid('MZ'), resumption);
}

/** The talk on the line goes on: its audio still comes, and no other stream has it. */
async function expectUndisturbed(line: CarrierLine, call: TestCall): Promise<void> {
  const heard = line.heard.length;
  await eventually(async () => line.heard.length > heard + 10);
  expect(line.socket.readyState).toBe(line.socket.OPEN);
  expect(await resumptionsOf(call)).toBe(0);
}

describe('a captured signature of a stream', () => {
  it.each([1, 3, 999])(
    'never displaces the live stream by the number %d, which nobody granted',
    async (number) => {
      const call = await media.placeCall();
      const line = await talking(call);
      const thief = await replayed(call, number);
      expect(await thief.closed).toBe(1008);
      expect(thief.events).toEqual([]);
      await expectUndisturbed(line, call);
      line.hangUp();
    },
    60_000,
  );

  it('nor in another media process', async () => {
    const { port } = await media.startAnother();
    const call = await media.placeCall();
    const line = await talking(call);
    const thief = await replayed(call, 1, port);
    expect(await thief.closed).toBe(1008);
    await expectUndisturbed(line, call);
    line.hangUp();
  }, 60_000);

  it('nor by a number that was granted to another call, or lies above the one granted', async () => {
    const [call, other] = [await media.placeCall(), await media.placeCall()];
    const line = await talking(call);
    await media.grant(other, 1);
    expect(await (await replayed(call, 1)).closed).toBe(1008);
    await expectUndisturbed(line, call);
    await media.grant(call, 1);
    expect(await (await replayed(call, 2)).closed).toBe(1008);
    await expectUndisturbed(line, call);
    line.hangUp();
  }, 60_000);

  it('nor by a number whose stream has come', async () => {
    const call = await media.placeCall();
    const line = await talking(call);
    line.break();
    const second = await media.resumeLine(call, 1);
    await eventually(async () => (await resumptionsOf(call)) === 1);
    for (const number of [undefined, 1, 2]) expect(await (await replayed(call, number)).closed).toBe(1008);
    const heard = second.heard.length;
    await eventually(async () => second.heard.length > heard + 10);
    second.hangUp();
  }, 60_000);

  it('nor starts a talk as a later stream before the call had its first', async () => {
    const call = await media.placeCall();
    const thief = await replayed(call, 1);
    expect(await thief.closed).toBe(1008);
    expect(await media.results.find(call.callId)).toBeNull();
    const line = await talking(call);
    await expectUndisturbed(line, call);
    line.hangUp();
  }, 60_000);

  it('nor gets a second talk by coming at the same moment as the carrier', async () => {
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
