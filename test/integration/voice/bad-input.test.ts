import { WebSocket } from 'ws';
import { startEvent } from './support/carrier-line';
import { eventually, openMediaFixture, type MediaFixture, type TestCall } from './support/media-fixture';
import { frame, openRaw, OPCODE } from './support/raw-socket';
import { sidOf } from '../../support/sids.js';

const AUDIO = '{"event":"media","media":{"timestamp":"0","payload":"/////w=="}}';
const HUNDRED_MB = 104_857_600;

/** Resolves with the close code and the reason. */
const closeOf = (socket: WebSocket) =>
  new Promise<[number, string]>((resolve) =>
    socket.once('close', (code, reason) => resolve([code, reason.toString()])),
  );

describe('input that no carrier sends', () => {
  let media: MediaFixture;
  beforeAll(async () => {
    media = await openMediaFixture();
  });
  afterAll(() => media.close());

  async function startCall(): Promise<{ call: TestCall; socket: WebSocket }> {
    const call = await media.placeCall();
    const socket = await media.dialIn(call);
    socket.send(startEvent(call.carrierSid, call.streamSid));
    await new Promise((resolve) => socket.once('message', resolve));
    return { call, socket };
  }

  /** Runs `act` while another call is in progress, and asserts that the other call continues. */
  async function whileAnotherCallRuns(act: () => Promise<void>): Promise<void> {
    const other = await media.openLine(await media.placeCall());
    await eventually(() => other.heard.length > 5);
    await act();
    const heard = other.heard.length;
    await eventually(() => other.heard.length > heard + 20);
    expect(other.socket.readyState).toBe(WebSocket.OPEN);
    other.hangUp();
    await other.closed;
  }

  it.each([
    ['a mark before the start', '{"event":"mark","mark":{"name":"m1"}}', 1008, 'mark before start'],
    ['a digit before the start', '{"event":"dtmf","dtmf":{"digit":"1"}}', 1008, 'dtmf before start'],
    ['a start without its contents', '{"event":"start"}', 1007, 'start must be an object'],
    [
      'a start without an audio format',
      `{"event":"start","start":{"streamSid":"${sidOf('MZ', 1)}","callSid":"${sidOf('CA', 1)}"}}`,
      1007,
      'start.mediaFormat must be an object',
    ],
    ['a start with an invalid name', startEvent('CA"1', sidOf('MZ', 1)), 1007, 'start.callSid is missing or invalid'],
    ['an event without a name', '{"media":{}}', 1007, 'event is missing or invalid'],
    ['null', 'null', 1007, 'the message must be an object'],
  ])('closes the socket and stores no conversation: %s', async (_, message, code, reason) => {
    const call = await media.placeCall();
    const socket = await media.dialIn(call);
    socket.send(message);
    expect(await closeOf(socket)).toEqual([code, reason]);
    expect(await media.results.find(call.callId)).toBeNull();
    expect(await media.signals(call.callId)).toEqual([]);
  });

  it.each([
    ['a second connected', '{"event":"connected"}', 1008, 'connected in a running stream'],
    ['a digit that no phone has', '{"event":"dtmf","dtmf":{"digit":"E"}}', 1007, 'dtmf.digit is missing or invalid'],
    [
      'audio of more than 200 ms in one message',
      AUDIO.replace('/////w==', '/'.repeat(2_136)),
      1007,
      'media.payload must be valid base64 of at most 1600 bytes of audio',
    ],
    [
      'audio without a time',
      '{"event":"media","media":{"payload":"/////w=="}}',
      1007,
      'media.timestamp is missing or invalid',
    ],
    [
      'audio as a number',
      '{"event":"media","media":{"timestamp":"0","payload":1}}',
      1007,
      'media.payload is missing or invalid',
    ],
    ['an array in place of an event', '[{"event":"media"}]', 1007, 'the message must be an object'],
    ['a binary frame', Buffer.from(AUDIO), 1003, 'binary frames are not supported'],
  ])('ends the call while another continues: %s', async (_, message, code, reason) => {
    await whileAnotherCallRuns(async () => {
      const { call, socket } = await startCall();
      socket.send(message, { binary: typeof message !== 'string' });
      expect(await closeOf(socket)).toEqual([code, reason]);
      await eventually(async () => (await media.results.find(call.callId))?.endReason === 'media_failed');
    });
  });

  it('closes the socket on audio after the stop, and keeps the reason of the stop', async () => {
    await whileAnotherCallRuns(async () => {
      const { call, socket } = await startCall();
      socket.send('{"event":"stop"}');
      socket.send(AUDIO);
      expect(await closeOf(socket)).toEqual([1008, 'audio after stop']);
      await eventually(async () => (await media.signals(call.callId)).length === 2);
      expect((await media.signals(call.callId)).at(-1)).toMatchObject({ kind: 'ended', reason: 'carrier_stop' });
    });
  });

  it.each([
    ['a text of 100 MB', (piece: Buffer) => [frame(OPCODE.text, '', { announcedLength: BigInt(HUNDRED_MB) }), piece]],
    [
      'a binary frame of 100 MB',
      (piece: Buffer) => [frame(OPCODE.binary, '', { announcedLength: BigInt(HUNDRED_MB) }), piece],
    ],
  ])(
    'closes the socket as soon as it is announced, and buffers nothing while another call continues: %s',
    async (_, parts) => {
      await whileAnotherCallRuns(async () => {
        const call = await media.placeCall();
        const socket = await openRaw(media.lineOptions(call));
        await socket.write(frame(OPCODE.text, startEvent(call.carrierSid, call.streamSid)));
        await eventually(() => socket.opcodes.includes(OPCODE.text));
        const piece = Buffer.alloc(65_536, 0x55);
        const before = process.memoryUsage().rss;
        for (const bytes of parts(piece)) await socket.write(bytes);
        for (let sent = 0; sent < HUNDRED_MB && socket.socket.writable; sent += piece.length) {
          if (!socket.socket.write(piece)) await drained(socket.socket);
        }
        expect(await socket.ended).toEqual({ code: 1009, reason: '' });
        expect(process.memoryUsage().rss - before).toBeLessThan(HUNDRED_MB);
        await eventually(async () => (await media.results.find(call.callId))?.endReason === 'media_failed');
      });
    },
  );

  it('rejects a second socket of a call, with a wrong and a valid signature, and the first continues', async () => {
    const call = await media.placeCall();
    const line = await media.openLine(call);
    await eventually(() => line.heard.length > 5);
    await expect(media.dialIn(call, { authToken: '2'.repeat(32) })).rejects.toThrow('403');
    // The upgrade succeeds: the server learns only from the start message that the second socket does not resume the
    // first stream.
    const second = await media.dialIn(call);
    second.send(startEvent(call.carrierSid, sidOf('MZ', 2)));
    expect(await closeOf(second)).toEqual([1008, 'the call already has a media stream']);
    const heard = line.heard.length;
    await eventually(() => line.heard.length > heard + 20);
    line.hangUp();
    await line.closed;
  });
});

/** Resolves when the socket can take more data, or when it is closed. */
function drained(socket: NodeJS.WritableStream): Promise<void> {
  return new Promise((resolve) => {
    socket.once('drain', resolve);
    socket.once('close', resolve);
  });
}
