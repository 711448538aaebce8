import { randomBytes, randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import { parseConfig } from '../../src/platform/config/config.js';
import { encodeCrockford } from '../../src/kernel/ids.js';
import { createIndexes } from '../../src/platform/mongo/indexes.js';
import { openDatabase, type Database } from '../../src/database.js';
import { dialIn, startEvent } from '../integration/voice/support/carrier-line.js';
import { frame, OPCODE } from '../integration/voice/support/raw-socket.js';
import { rawRequest, sendBytes, shortestRequests, tinyChunksRequest } from '../support/hostile-requests.js';
import { LIVE_WITHIN_MS, slowestLivenessResponse } from '../support/liveness.js';
import { freePort, startRole } from '../support/role-process.js';
import { newSid } from '../support/sids.js';
import { callRequest } from '../support/store/call-request.js';

const STREAM_URL = 'wss://media.example.com/stream';
/** The requests are built once, because building them during a test would delay the server. */
const SHORT = shortestRequests(10_000).bytes;
const TINY_CHUNKS = tinyChunksRequest({ path: '/health' }).bytes;
const UPGRADE = rawRequest({
  path: `/stream/call_${'0'.repeat(26)}`,
  headers: {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
    'X-Twilio-Signature': 'AAAA',
  },
});
const GARBAGE = Buffer.concat([UPGRADE, randomBytes(200_000)]);
const TINY_FRAMES = Buffer.concat(Array(100_000).fill(frame(OPCODE.text, '{}')));
const MARKS = Buffer.concat(Array(20_000).fill(frame(OPCODE.text, '{"event":"mark","mark":{"name":"x"}}')));
const EMPTY_FRAGMENTS = Buffer.concat([
  frame(OPCODE.text, '', { fin: false }),
  ...Array(100_000).fill(frame(OPCODE.continuation, '', { fin: false })),
]);
const PINGS = Buffer.concat(Array(20_000).fill(frame(OPCODE.ping, 'x'.repeat(125))));
const GIANT = frame(OPCODE.text, Buffer.alloc(20_000_000, '['));
const NESTED = Buffer.concat(Array(200).fill(frame(OPCODE.text, `{"event":${'['.repeat(60_000)}`)));
const CROWDED = Buffer.concat(
  Array(200).fill(
    frame(OPCODE.text, `{"event":"start","start":{"customParameters":{${'"a":"",'.repeat(8_000)}"b":""}}}`),
  ),
);

let media: Awaited<ReturnType<typeof startRole>>;
let database: Database;
let port: number;
let authToken: string;

beforeAll(async () => {
  const uri = `${process.env.TEST_MONGODB_URI}/media_${randomUUID().slice(0, 8)}`;
  database = await openDatabase(uri);
  await createIndexes(database);
  port = await freePort();
  const env = {
    MEDIA_PORT: String(port),
    MONGODB_URI: uri,
    STREAM_URL,
    TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS,
  };
  authToken = parseConfig({ NODE_ENV: 'test', ...env }).carriers.live.authToken;
  media = await startRole('media', { LOG_LEVEL: 'silent', ...env });
});
afterAll(async () => {
  await media.kill();
  await database.connection.dropDatabase();
  await database.close();
});

const many = (count: number, work: (n: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: count }, (_, n) => work(n).catch(() => undefined)));

/** Opens a media stream of a call without a workflow. The stream is admitted and has started. */
async function openAdmittedStream(): Promise<WebSocket> {
  const callId = `call_${encodeCrockford(randomBytes(16))}`;
  const carrierSid = newSid('CA');
  await database.callRequests.collection.insertOne(
    callRequest({ _id: callId, toPhoneNumber: '+12025550143' }) as never,
  );
  await database.carrierBindings.collection.insertOne({ _id: callId as never, carrierSid, boundAt: new Date() });
  const socket = await dialIn({ port, callId, carrierSid, authToken, streamUrl: STREAM_URL });
  socket.on('error', () => undefined);
  socket.send(startEvent(carrierSid, newSid('MZ')));
  return socket;
}

/** Writes bytes directly to admitted streams, because the websocket library would reject such frames. */
async function onStreams(count: number, bytes: Buffer, { read = true } = {}): Promise<void> {
  const streams = await Promise.all(Array.from({ length: count }, openAdmittedStream));
  const sockets = streams.map((stream) => (stream as unknown as { _socket: Socket })._socket);
  for (const socket of sockets) {
    if (!read) socket.pause();
    socket.write(bytes, () => undefined);
  }
  await sleep(2_500);
  for (const stream of streams) stream.terminate();
}

/**
 * Starts the work in batches with pauses. The kernel's accept queue is short, and a client that finds it full waits for
 * a second.
 */
const inBatches = (batches: number, each: number, work: (n: number) => Promise<unknown>) => async () => {
  const begun: Promise<unknown>[] = [];
  for (let batch = 0; batch < batches; batch++) {
    begun.push(many(each, work));
    await sleep(100);
  }
  await Promise.all(begun);
};

function halfOpen(n: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.2' }, () => {
      if (n % 2) socket.write('GET /stream HTTP/1.1\r\nHost: x\r\nX-Slow:');
      else socket.end();
    });
    const timer = setTimeout(() => socket.destroy(), 3_000);
    socket.on('error', () => undefined);
    socket.on('close', () => (clearTimeout(timer), resolve()));
  });
}

const CASES: { name: string; run: () => Promise<unknown> }[] = [
  { name: 'half-open and silent sockets', run: inBatches(15, 100, halfOpen) },
  { name: 'thousands of short requests in a row', run: () => many(20, () => sendBytes(port, SHORT, { forMs: 3_000 })) },
  {
    name: 'bodies in chunks of one byte',
    run: () => many(100, () => sendBytes(port, TINY_CHUNKS, { forMs: 3_000 })),
  },
  {
    name: 'upgrades without a valid signature',
    run: () => many(500, () => sendBytes(port, UPGRADE, { forMs: 3_000 })),
  },
  { name: 'garbage after an upgrade', run: () => many(50, () => sendBytes(port, GARBAGE, { forMs: 3_000 })) },
  { name: 'a flood of tiny frames', run: () => onStreams(10, TINY_FRAMES) },
  { name: 'a flood of marks', run: () => onStreams(10, MARKS) },
  { name: 'a flood of fragments', run: () => onStreams(10, EMPTY_FRAGMENTS) },
  { name: 'giant frames', run: () => onStreams(10, GIANT) },
  { name: 'deeply nested frames', run: () => onStreams(10, NESTED) },
  { name: 'frames with 8,000 members', run: () => onStreams(10, CROWDED) },
  { name: 'pings whose responses the client does not read', run: () => onStreams(10, PINGS, { read: false }) },
];

describe('GET /health of the media server responds soon during', () => {
  it.each(CASES)('$name', async ({ run }) => {
    const slowest = await slowestLivenessResponse(`http://127.0.0.1:${port}`, run, { path: '/health', pid: media.pid });
    if (process.env['TEST_LOG_LEVEL']) process.stdout.write(`${slowest}\n`);
    expect(slowest).toBeLessThan(LIVE_WITHIN_MS);
    expect(media.isRunning()).toBe(true);
  });
});
