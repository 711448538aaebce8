import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { WebSocket } from 'ws';
import { sign } from '../../../src/telephony/twilio/signature.js';
import { startEvent } from './support/carrier-line';
import { startGate } from './support/gate';
import { eventually, openMediaFixture } from './support/media-fixture';
import type { MediaFixture, TestCall } from './support/media-fixture';
import { createScriptedEngine } from './support/scripted-engine';
import { sidOf } from '../../support/sids.js';

const START_WITHIN_MS = 500;

/** Resolves with the close code. */
const closeOf = (socket: WebSocket) => new Promise<number>((resolve) => socket.once('close', resolve));
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('the media server', () => {
  let media: MediaFixture;
  beforeAll(async () => {
    media = await openMediaFixture({ timings: { startWithinMs: START_WITHIN_MS } });
  });
  afterAll(() => media.close());

  async function live(): Promise<{ call: TestCall; socket: WebSocket }> {
    const call = await media.placeCall();
    const socket = await media.dialIn(call);
    socket.send(startEvent(call.carrierSid, call.streamSid));
    await new Promise((resolve) => socket.once('message', resolve));
    return { call, socket };
  }

  describe('at the upgrade', () => {
    it.each([
      ['no signature', { signature: '' }],
      ['a wrong signature', { signature: randomBytes(20).toString('base64') }],
      ['the other mode’s token', { authToken: '2'.repeat(32) }],
      ['a signature over https', { streamUrl: 'https://media.example.com/stream' }],
    ])('refuses %s with 403', async (_, changes) => {
      const call = await media.placeCall();
      await expect(media.dialIn(call, changes)).rejects.toThrow('403');
    });

    it('refuses a signature that was made for another call with 403', async () => {
      const [one, other] = [await media.placeCall(), await media.placeCall()];
      const { authToken, streamUrl } = media.lineOptions(one);
      const signature = sign({ authToken, url: `${streamUrl}/${one.callId}`, params: {} });
      await expect(media.dialIn(other, { signature })).rejects.toThrow('403');
    });

    it('knows no stream of an unknown call, of no call and of a call that is final', async () => {
      const call = await media.placeCall();
      await expect(media.dialIn(call, { callId: `call_${'0'.repeat(26)}` })).rejects.toThrow('404');
      await expect(media.dialIn(call, { callId: 'call_1' })).rejects.toThrow('404');
      await media.database.calls.create({
        _id: call.callId,
        sequence: 2,
        accountId: 'acct_1',
        mode: 'live',
        direction: 'outbound',
        status: 'CANCELLED',
        fromPhoneNumber: '+12025550199',
        toPhoneNumber: '+12025550100',
        agentId: 'agent_1',
        inputParameters: '{}',
        externalCallId: '',
        createdAt: new Date(),
        updatedAt: new Date(),
      });
      await expect(media.dialIn(call)).rejects.toThrow('404');
    });

    it('knows no stream of a call whose binding is missing or closed', async () => {
      const [unbound, closed] = [await media.placeCall(), await media.placeCall()];
      await media.database.carrierBindings.deleteOne({ _id: unbound.callId });
      await media.database.carrierBindings.updateOne({ _id: closed.callId }, { $set: { closed: true } });
      await expect(media.dialIn(unbound)).rejects.toThrow('404');
      await expect(media.dialIn(closed)).rejects.toThrow('404');
    });

    it('takes one socket of a call: a second one is refused, also after the first is gone', async () => {
      const { call, socket } = await live();
      const second = await media.dialIn(call);
      second.send(startEvent(call.carrierSid, sidOf('MZ', 2)));
      expect(await closeOf(second)).toBe(1008);
      expect(socket.readyState).toBe(WebSocket.OPEN);
      socket.close(1000);
      await eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined);
      await expect(media.dialIn(call)).rejects.toThrow(/40[49]/);
    });

    it('lets one of two sockets in that come at once', async () => {
      const call = await media.placeCall();
      const tries = await Promise.allSettled([media.dialIn(call), media.dialIn(call)]);
      expect(tries.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
      for (const outcome of tries) if (outcome.status === 'fulfilled') outcome.value.close();
    });
  });

  describe('before the start', () => {
    it('closes with 1008 when no start comes in time', async () => {
      const socket = await media.dialIn(await media.placeCall());
      const openedAt = performance.now();
      expect(await closeOf(socket)).toBe(1008);
      expect(performance.now() - openedAt).toBeGreaterThan(START_WITHIN_MS * 0.9);
    });

    it('closes with 1008, and tells nobody, when the start names another call of the carrier', async () => {
      const call = await media.placeCall();
      const socket = await media.dialIn(call);
      socket.send(startEvent(`CA${'0'.repeat(32)}`, call.streamSid));
      expect(await closeOf(socket)).toBe(1008);
      expect(await media.results.find(call.callId)).toBeNull();
      expect(await media.signals(call.callId)).toEqual([]);
    });

    it.each([
      ['audio', '{"event":"media","media":{"timestamp":"0","payload":"/////w=="}}', 1008],
      ['a stop', '{"event":"stop"}', 1008],
      ['another codec', startEvent(sidOf('CA', 1), sidOf('MZ', 1)).replace('x-mulaw', 'l16'), 1008],
      ['no JSON', 'hello', 1007],
      ['nested arrays', '['.repeat(60_000), 1007],
      ['an array', '[]', 1007],
      ['a binary frame', Buffer.from([1, 2, 3]), 1003],
      ['an oversized frame', 'x'.repeat(70_000), 1009],
    ])('closes on %s', async (_, data, code) => {
      const socket = await media.dialIn(await media.placeCall());
      socket.send(data);
      expect(await closeOf(socket)).toBe(code);
    });
  });

  describe('in a running stream', () => {
    it.each([
      ['bad base64', '{"event":"media","media":{"timestamp":"0","payload":"%%%%"}}', 1007],
      ['a timestamp that is no time', '{"event":"media","media":{"timestamp":"-1","payload":"////"}}', 1007],
      ['a second start', startEvent(sidOf('CA', 1), sidOf('MZ', 1)), 1008],
      ['bytes that are no UTF-8', Buffer.from([0xff, 0xfe]), 1007],
    ])('ends on %s as media_failed while another call goes on', async (_, data, code) => {
      const other = await media.openLine(await media.placeCall());
      const { call, socket } = await live();
      socket.send(data, { binary: false });
      expect(await closeOf(socket)).toBe(code);
      await eventually(async () => (await media.results.find(call.callId))?.endReason === 'media_failed');
      const heard = other.heard.length;
      await eventually(() => other.heard.length > heard + 10);
      other.hangUp();
    });

    it('ends on a flood of messages with 1008', async () => {
      const { socket } = await live();
      for (let i = 0; i < 6_000; i++) socket.send('{"event":"mark","mark":{"name":"x"}}');
      expect(await closeOf(socket)).toBe(1008);
    });

    it('ends on a message in very many fragments', async () => {
      const { socket } = await live();
      for (let i = 0; i < 200; i++) socket.send('x', { fin: false });
      expect([1008, 1009]).toContain(await closeOf(socket));
    });

    it('takes unknown events and key presses as they come', async () => {
      const { socket } = await live();
      socket.send('{"event":"noise","level":1}');
      socket.send('{"event":"dtmf","dtmf":{"track":"inbound_track","digit":"5"}}');
      await pause(100);
      expect(socket.readyState).toBe(WebSocket.OPEN);
      socket.close(1000);
    });

    it('takes a socket that closes in order as the carrier’s stop, one that breaks as lost: that ends nothing', async () => {
      const [broken, closed] = [await live(), await live()];
      broken.socket.terminate();
      closed.socket.close(1000);
      await eventually(async () => (await media.signals(closed.call.callId)).length === 2);
      expect((await media.signals(closed.call.callId)).at(-1)).toMatchObject({ kind: 'ended', reason: 'carrier_stop' });
      const resultOf = () => media.results.find(broken.call.callId);
      await eventually(async () => (await resultOf())?.summary !== undefined);
      expect((await resultOf())?.endedAt).toBeUndefined();
      expect(await media.signals(broken.call.callId)).toMatchObject([{ kind: 'started' }]);
    });

    it('does not count audio as played before a mark has proven it', async () => {
      const { call, socket } = await live();
      await pause(600);
      socket.close(1000);
      await eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined);
      expect(await media.results.find(call.callId)).toMatchObject({ agentAudioPlayed: false, turns: [] });
    });
  });

  it('answers its health and nothing else over HTTP', async () => {
    const statusOf = (path: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        request({ port: media.port, path }, (response) => resolve(response.resume().statusCode))
          .on('error', reject)
          .end();
      });
    expect(await statusOf('/health')).toBe(200);
    expect(await statusOf('/stream/x')).toBe(404);
  });
});

describe('a media server under other conditions', () => {
  it('takes a carrier from which nothing comes any more, not even the answer to a ping, for lost', async () => {
    const media = await openMediaFixture({ timings: { pingEveryMs: 300 } });
    const call = await media.placeCall();
    const socket = await media.dialIn(call);
    socket.pong = () => undefined;
    socket.removeAllListeners('ping');
    Reflect.set(socket, '_autoPong', false);
    socket.send(startEvent(call.carrierSid, call.streamSid));
    expect(await closeOf(socket)).toBe(1006);
    await eventually(async () => (await media.results.find(call.callId))?.summary !== undefined);
    expect((await media.results.find(call.callId))?.endedAt).toBeUndefined();
    await media.close();
  });

  it('does not take a carrier for lost whose signs of life it had no time to read', async () => {
    const pingEveryMs = 300;
    const media = await openMediaFixture({ timings: { pingEveryMs } });
    const call = await media.placeCall();
    const socket = await media.dialIn(call);
    const pinged = new Promise<void>((resolve) => {
      // The answer is on its way already; now the process stands still.
      socket.once('ping', () => {
        for (const until = performance.now() + pingEveryMs * 2; performance.now() < until;);
        resolve();
      });
    });
    socket.send(startEvent(call.carrierSid, call.streamSid));
    await pinged;
    await pause(pingEveryMs * 2);
    expect(socket.readyState).toBe(WebSocket.OPEN);
    socket.close(1000);
    await media.close();
  });

  it('ends the one call whose engine throws when it is to begin, and stores that', async () => {
    const { factory } = createScriptedEngine();
    const create = () => {
      const engine = factory.create();
      const start = () => {
        throw new Error('no engine today');
      };
      return Object.assign(engine, { start });
    };
    const media = await openMediaFixture({ engine: { ...factory, create } });
    const call = await media.placeCall();
    const line = await media.openLine(call);
    expect(await line.closed).toBe(1011);
    expect(await media.results.find(call.callId)).toMatchObject({ endReason: 'media_failed' });
    expect((await media.signals(call.callId)).at(-1)).toMatchObject({ kind: 'ended', reason: 'media_failed' });
    await media.close();
  });

  it('hands live calls over when it is told to stop: their streams are closed, their rows stay open', async () => {
    const media = await openMediaFixture({ timings: { shutdownGraceMs: 300 } });
    const call = await media.placeCall();
    const line = await media.openLine(call);
    await eventually(() => line.heard.length > 30);
    const closing = media.server.close();
    await expect(media.dialIn(await media.placeCall())).rejects.toThrow(/503|ECONNREFUSED/);
    await closing;
    expect(await line.closed).toBe(1012);
    expect(await media.signals(call.callId)).toMatchObject([{ kind: 'started' }]);
    const result = await media.results.find(call.callId);
    expect(result).toMatchObject({ agentAudioPlayed: true, turns: [{ speaker: 'agent' }] });
    expect(result?.endedAt).toBeUndefined();
    expect(await media.recordings.seal(call.callId)).toBe(true);
    await media.close();
  });

  it('talks on while the database is away, and stores the result when it is back', async () => {
    const gate = await startGate((process.env['TEST_MONGODB_URI'] ?? '').replace('mongodb://', ''));
    const media = await openMediaFixture({ mongodbUri: `mongodb://${gate.address}` });
    const call = await media.placeCall();
    const line = await media.openLine(call);
    await eventually(() => line.heard.length > 30);
    gate.shut();
    const heard = line.heard.length;
    await eventually(() => line.heard.length > heard + 50);
    line.hangUp();
    await eventually(async () => (await media.signals(call.callId)).length === 2, 15_000);
    gate.open();
    await eventually(async () => (await media.results.find(call.callId))?.hasRecording === true, 30_000);
    // The call was told that something is on its way, and now that it is there.
    await eventually(async () => (await media.signals(call.callId)).length === 3);
    expect(await media.signals(call.callId)).toMatchObject([
      { kind: 'started' },
      { kind: 'ended', resultStored: false },
      { kind: 'stored' },
    ]);
    expect(await media.results.find(call.callId)).toMatchObject({ endReason: 'carrier_stop', agentAudioPlayed: true });
    await media.close();
    await gate.close();
  });

  it('keeps what is stored of a recording whose rest was given up because the database stayed away', async () => {
    const gate = await startGate((process.env['TEST_MONGODB_URI'] ?? '').replace('mongodb://', ''));
    const mongodbUri = `mongodb://${gate.address}`;
    const media = await openMediaFixture({ mongodbUri, timings: { recordingGiveUpMs: 500 } });
    const call = await media.placeCall();
    const line = await media.openLine(call);
    const isBegun = async () => (await media.database.recordingFiles.countDocuments({ _id: call.callId })) > 0;
    await eventually(isBegun, 30_000);
    gate.shut();
    // Two more chunks come up, the database is looked for in vain for 4 s, and once more is not tried.
    await pause(12_000);
    gate.open();
    await eventually(() => isBegun().catch(() => false), 30_000);
    line.hangUp();
    await eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined, 30_000);
    expect(await media.results.find(call.callId)).toMatchObject({ hasRecording: true });
    expect((await media.recordings.read(call.callId))?.bytes).toBeGreaterThan(60_000);
    await media.close();
    await gate.close();
  }, 120_000);

  it('talks on while Temporal is away, and tells the workflow of both ends of the stream when it is back', async () => {
    const gate = await startGate(process.env['TEST_TEMPORAL_ADDRESS'] ?? '');
    const media = await openMediaFixture({ temporalAddress: gate.address });
    const call = await media.placeCall();
    gate.shut();
    const line = await media.openLine(call);
    await eventually(() => line.heard.length > 50);
    line.hangUp();
    await eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined);
    expect(await media.signals(call.callId)).toEqual([]);
    gate.open();
    await eventually(async () => (await media.signals(call.callId)).length === 2, 40_000);
    expect(await media.signals(call.callId)).toMatchObject([{ kind: 'started' }, { kind: 'ended' }]);
    await media.close();
    await gate.close();
  });

  it('hangs up on a stream whose call has no running workflow any more: nobody would pay for it', async () => {
    const media = await openMediaFixture();
    const call = await media.placeCall();
    await media.endWorkflow(call.callId);
    const line = await media.openLine(call);
    expect(await line.closed).toBe(1011);
    expect(await media.results.find(call.callId)).toMatchObject({ endReason: 'media_failed' });
    await media.close();
  });

  it('does not speak on a stream whose call another stream has taken', async () => {
    const media = await openMediaFixture();
    const call = await media.placeCall();
    const socket = await media.dialIn(call);
    const { callId, carrierSid } = call;
    await media.results.begin({
      callId,
      carrierSid,
      streamId: sidOf('MZ', 'other'),
      engine: 'x',
      startedAt: new Date(),
    });
    socket.send(startEvent(carrierSid, call.streamSid));
    expect(await closeOf(socket)).toBe(1008);
    expect(await media.results.find(callId)).toMatchObject({ streamSid: sidOf('MZ', 'other') });
    expect((await media.signals(callId)).filter((signal) => signal.kind === 'ended')).toEqual([]);
    await media.close();
  });
});
