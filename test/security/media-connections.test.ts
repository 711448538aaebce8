import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { encodeCrockford } from '../../src/kernel/ids.js';
import { createConnectionGate } from '../../src/voice/media/connection-gate.js';
import { dialIn } from '../integration/voice/support/carrier-line.js';
import { openMediaFixture } from '../integration/voice/support/media-fixture.js';
import { newSid } from '../support/sids.js';
import { callRequest } from '../support/store/call-request.js';

const STREAMS = 500;
/** How many connections without a valid signature one address may have. */
const MOST_OF_ONE = 1_000;
/** More connections than all addresses together may have. */
const FLOOD = 5_000;

let media: Awaited<ReturnType<typeof openMediaFixture>>;
beforeAll(async () => {
  media = await openMediaFixture({ timings: { startWithinMs: 120_000 } });
});
afterAll(() => media.close());

/** Stores calls that have no workflow and wait for their media streams. Returns their ids. */
async function waitingCalls(count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => `call_${encodeCrockford(randomBytes(16))}`);
  const { callRequests, carrierBindings } = media.database;
  await callRequests.collection.insertMany(
    ids.map((_id) => callRequest({ _id, toPhoneNumber: '+12025550143' }) as never),
  );
  await carrierBindings.collection.insertMany(
    ids.map((_id) => ({ _id: _id as never, carrierSid: newSid('CA'), boundAt: new Date() })),
  );
  return ids;
}

const lineOf = (callId: string) => media.lineOptions({ callId, carrierSid: '', streamSid: '' });

/** Opens a connection that sends nothing, or only the beginning of a request. */
function openSilent(localAddress: string, said = ''): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: media.port, localAddress });
    socket.on('error', () => undefined);
    socket.once('connect', () => {
      if (said !== '') socket.write(said);
      resolve(socket);
    });
    socket.once('close', () => resolve(socket));
    // The server's accept queue is full for a while. So the test continues even if the server has not accepted every
    // connection.
    setTimeout(() => resolve(socket), 5_000).unref();
  });
}

describe('unauthenticated connections do not take the media port from the carrier', () => {
  it('a stream is admitted while another address floods the port with silent connections', async () => {
    const [callId = ''] = await waitingCalls(1);
    let made = 0;
    const flood = await Promise.all(
      Array.from({ length: FLOOD }, async () => {
        const socket = await openSilent('127.0.0.2');
        if (!socket.connecting && socket.remotePort !== undefined) made += 1;
        return socket;
      }),
    );
    try {
      expect(made).toBeGreaterThan(MOST_OF_ONE);
      const socket = await dialIn(lineOf(callId));
      expect(socket.readyState).toBe(socket.OPEN);
      socket.terminate();
    } finally {
      for (const socket of flood) socket.destroy();
    }
  }, 60_000);

  it('a request with endless headers is cut off within 7 s', async () => {
    const begunAt = Date.now();
    const socket = await openSilent('127.0.0.3', 'GET /stream HTTP/1.1\r\nHost: x\r\nX-Slow:');
    expect(socket.connecting || socket.destroyed).toBe(false);
    await new Promise((resolve) => (socket.resume(), socket.once('close', resolve)));
    expect(Date.now() - begunAt).toBeLessThan(7_000);
  }, 30_000);

  it('500 streams from one address are admitted together and stay open', async () => {
    const calls = await waitingCalls(STREAMS);
    const sockets = await Promise.all(calls.map((callId) => dialIn(lineOf(callId))));
    try {
      const open = () => sockets.filter((socket) => socket.readyState === socket.OPEN);
      expect(open()).toHaveLength(STREAMS);
      // This is longer than a connection may stay open without a valid signature.
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      expect(open()).toHaveLength(STREAMS);
    } finally {
      for (const socket of sockets) socket.terminate();
    }
  }, 120_000);
});

describe('connections that have not shown a valid signature', () => {
  const limits = { perClient: 2, total: 4 };
  const sockets = () => {
    const closed: string[] = [];
    const socket = (name: string) => ({ destroy: () => void closed.push(name), once: () => undefined });
    return { closed, socket };
  };

  it('are closed, oldest first, when one address has too many', () => {
    const { closed, socket } = sockets();
    const gate = createConnectionGate(limits);
    for (const name of ['a1', 'a2', 'b1', 'a3', 'a4']) gate.enter(socket(name), name[0]);
    expect(closed).toEqual(['a1', 'a2']);
  });

  it('are closed, oldest first, when all addresses have too many together', () => {
    const { closed, socket } = sockets();
    const gate = createConnectionGate(limits);
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) gate.enter(socket(name), name);
    expect(closed).toEqual(['a', 'b']);
  });

  it('count for the client that the trusted proxy names, once it is known', () => {
    const { closed, socket } = sockets();
    const gate = createConnectionGate(limits);
    const all = ['p1', 'p2', 'p3'].map((name) => socket(name));
    for (const one of all) gate.enter(one);
    expect(closed).toEqual([]);
    for (const one of all) gate.identify(one, 'client');
    expect(closed).toEqual(['p1']);
    // This socket stands for another client behind the same proxy.
    const other = socket('p4');
    gate.enter(other);
    gate.identify(other, 'another client');
    expect(closed).toEqual(['p1']);
  });

  it('no longer count once they are admitted', () => {
    const { closed, socket } = sockets();
    const gate = createConnectionGate(limits);
    for (let stream = 0; stream < 10; stream += 1) {
      const one = socket(`s${stream}`);
      gate.enter(one, 'a');
      gate.leave(one);
    }
    expect(closed).toEqual([]);
  });
});
