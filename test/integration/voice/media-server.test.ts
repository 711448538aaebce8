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

  async function startCall(): Promise<{ call: TestCall; socket: WebSocket }> {
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
    ])('rejects %s with 403', async (_, changes) => {
      const call = await media.placeCall();
      await expect(media.dialIn(call, changes)).rejects.toThrow('403');
    });

    it('rejects a signature for another call with 403', async () => {
      const [one, other] = [await media.placeCall(), await media.placeCall()];
      const { authToken, streamUrl } = media.lineOptions(one);
      const signature = sign({ authToken, url: `${streamUrl}/${one.callId}`, params: {} });
      await expect(media.dialIn(other, { signature })).rejects.toThrow('403');
    });

    it('rejects a stream of an unknown call with 403, and of an invalid call id and an ended call with 404', async () => {
      const call = await media.placeCall();
      await expect(media.dialIn(call, { callId: `call_${'0'.repeat(26)}` })).rejects.toThrow('403');
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

    it('rejects a stream of a call whose binding is missing or closed with 404', async () => {
      const [unbound, closed] = [await media.placeCall(), await media.placeCall()];
      await media.database.carrierBindings.deleteOne({ _id: unbound.callId });
      await media.database.carrierBindings.updateOne({ _id: closed.callId }, { $set: { closed: true } });
      await expect(media.dialIn(unbound)).rejects.toThrow('404');
      await expect(media.dialIn(closed)).rejects.toThrow('404');
    });

    it('accepts one socket per call and rejects a second one, even after the first has closed', async () => {
      const { call, socket } = await startCall();
      const second = await media.dialIn(call);
      second.send(startEvent(call.carrierSid, sidOf('MZ', 2)));
      expect(await closeOf(second)).toBe(1008);
      expect(socket.readyState).toBe(WebSocket.OPEN);
      socket.close(1000);
      await eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined);
      await expect(media.dialIn(call)).rejects.toThrow(/40[49]/);
    });

    it('accepts one of two concurrent sockets', async () => {
      const call = await media.placeCall();
      const tries = await Promise.allSettled([media.dialIn(call), media.dialIn(call)]);
      expect(tries.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
      for (const outcome of tries) if (outcome.status === 'fulfilled') outcome.value.close();
    });
  });

  it.each([
    ['off', 0, 0],
    ['office', 30, 56],
  ] as const)(
    'sends the background sound "%s" while the agent waits, at the pace of the audio',
    async (sound, least, most) => {
      const call = await media.placeCall({ agent: { backgroundSound: sound, firstSpeaker: 'caller' } });
      const socket = await media.dialIn(call);
      const events: unknown[] = [];
      socket.on('message', (data: Buffer) => events.push((JSON.parse(data.toString()) as { event: unknown }).event));
      socket.send(startEvent(call.carrierSid, call.streamSid));
      await pause(1_000);
      socket.close(1000);
      expect(events.length).toBeGreaterThanOrEqual(least);
      expect(events.length).toBeLessThanOrEqual(most);
      expect(events.filter((event) => event !== 'media')).toEqual([]);
    },
  );

  describe('before the start', () => {
    it('closes with 1008 if no start arrives in time', async () => {
      const socket = await media.dialIn(await media.placeCall());
      const openedAt = performance.now();
      expect(await closeOf(socket)).toBe(1008);
      expect(performance.now() - openedAt).toBeGreaterThan(START_WITHIN_MS * 0.9);
    });

    it('closes with 1008 without a signal if the start names another carrier call', async () => {
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
      ['invalid JSON', 'hello', 1007],
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
      ['an invalid timestamp', '{"event":"media","media":{"timestamp":"-1","payload":"////"}}', 1007],
      ['a second start', startEvent(sidOf('CA', 1), sidOf('MZ', 1)), 1008],
      ['invalid UTF-8', Buffer.from([0xff, 0xfe]), 1007],
    ])('ends as media_failed on %s while another call continues', async (_, data, code) => {
      const other = await media.openLine(await media.placeCall());
      const { call, socket } = await startCall();
      socket.send(data, { binary: false });
      expect(await closeOf(socket)).toBe(code);
      await eventually(async () => (await media.results.find(call.callId))?.endReason === 'media_failed');
      const heard = other.heard.length;
      await eventually(() => other.heard.length > heard + 10);
      other.hangUp();
    });

    it('closes with 1008 on a flood of messages', async () => {
      const { socket } = await startCall();
      for (let i = 0; i < 6_000; i++) socket.send('{"event":"mark","mark":{"name":"x"}}');
      expect(await closeOf(socket)).toBe(1008);
    });

    it('closes on a message in too many fragments', async () => {
      const { socket } = await startCall();
      for (let i = 0; i < 200; i++) socket.send('x', { fin: false });
      expect([1008, 1009]).toContain(await closeOf(socket));
    });

    it('accepts unknown events and DTMF digits', async () => {
      const { socket } = await startCall();
      socket.send('{"event":"noise","level":1}');
      socket.send('{"event":"dtmf","dtmf":{"track":"inbound_track","digit":"5"}}');
      await pause(100);
      expect(socket.readyState).toBe(WebSocket.OPEN);
      socket.close(1000);
    });

    it('treats a regular close as the carrier’s stop, and a broken socket as lost without ending the call', async () => {
      const [broken, closed] = [await startCall(), await startCall()];
      broken.socket.terminate();
      closed.socket.close(1000);
      await eventually(async () => (await media.signals(closed.call.callId)).length === 2);
      expect((await media.signals(closed.call.callId)).at(-1)).toMatchObject({ kind: 'ended', reason: 'carrier_stop' });
      const resultOf = () => media.results.find(broken.call.callId);
      await eventually(async () => (await resultOf())?.summary !== undefined);
      expect((await resultOf())?.endedAt).toBeUndefined();
      expect(await media.signals(broken.call.callId)).toMatchObject([{ kind: 'started' }]);
    });

    it('counts audio as played only after its mark returned', async () => {
      const { call, socket } = await startCall();
      await pause(600);
      socket.close(1000);
      await eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined);
      expect(await media.results.find(call.callId)).toMatchObject({ agentAudioPlayed: false, turns: [] });
    });
  });

  it('serves only its health check over HTTP', async () => {
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

describe('a media server in difficult conditions', () => {
  it('treats a carrier that sends nothing, not even a pong, as lost', async () => {
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

  it('does not treat a carrier as lost whose messages it had no time to read', async () => {
    const pingEveryMs = 300;
    const media = await openMediaFixture({ timings: { pingEveryMs } });
    const call = await media.placeCall();
    const socket = await media.dialIn(call);
    const pinged = new Promise<void>((resolve) => {
      // The client's pong is already under way when this loop blocks the process.
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

  it('ends the one call whose engine throws at its start, and stores that', async () => {
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

  it('closes the streams of live calls on shutdown and keeps their rows open for another process', async () => {
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

  it('continues the session while the database is unavailable, and stores the result later', async () => {
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
    // The media server signaled first that a result was pending, and then that the result is stored.
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

  it('keeps the stored part of a recording when the rest was given up because the database was unavailable', async () => {
    const gate = await startGate((process.env['TEST_MONGODB_URI'] ?? '').replace('mongodb://', ''));
    const mongodbUri = `mongodb://${gate.address}`;
    const media = await openMediaFixture({ mongodbUri, timings: { recordingGiveUpMs: 500 } });
    const call = await media.placeCall();
    const line = await media.openLine(call);
    const chunks = media.database.connection.collection('recordings.chunks');
    const isChunkStored = async () => (await chunks.countDocuments({ files_id: call.callId })) > 0;
    await eventually(isChunkStored, 30_000);
    gate.shut();
    // Two more chunks arrive while the database is unreachable for 4 s. The recorder makes no further attempt.
    await pause(12_000);
    gate.open();
    await eventually(() => isChunkStored().catch(() => false), 30_000);
    line.hangUp();
    await eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined, 30_000);
    expect(await media.results.find(call.callId)).toMatchObject({ hasRecording: true });
    expect((await media.recordings.read(call.callId))?.bytes).toBeGreaterThan(60_000);
    await media.close();
    await gate.close();
  }, 120_000);

  it('continues the session while Temporal is unavailable, and signals both ends of the stream later', async () => {
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

  it('hangs up on a stream whose call has no running workflow, because it would not be billed', async () => {
    const media = await openMediaFixture();
    const call = await media.placeCall();
    await media.endWorkflow(call.callId);
    const line = await media.openLine(call);
    expect(await line.closed).toBe(1011);
    expect(await media.results.find(call.callId)).toMatchObject({ endReason: 'media_failed' });
    await media.close();
  });

  it('does not speak on a stream whose call belongs to another stream', async () => {
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
