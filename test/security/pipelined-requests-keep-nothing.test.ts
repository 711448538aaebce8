import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRecordings } from '../../src/voice/recordings/recordings.js';
import { startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';
import { rawRequest } from '../support/hostile-requests.js';

/** More connections, one after the other, than an account may have downloads in progress. */
const CONNECTIONS = 8;
/** Larger than the buffers of a connection, so that the first response of each one stays in progress. */
const SECONDS = 2_000;

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer(0);
}, 60_000);
afterAll(() => service.close());

async function recordedCall(): Promise<string> {
  const callId = await managementOf(service).endedCall(customer, { mode: 'test', hasRecording: true });
  const key = { callId, stream: 0, offsetMs: SECONDS * 1_000 };
  const writer = createRecordings(service.database).open(key, Promise.resolve(true));
  writer.write(Buffer.alloc(3_200));
  await writer.close();
  return callId;
}

/** Sends requests without reading their responses. Resolves when the first response begins. */
function pipeline(bytes: Buffer): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(service.port, '127.0.0.1', () => socket.write(bytes));
    socket.on('error', reject);
    socket.once('readable', () => resolve(socket));
  });
}

describe('pipelined requests of a connection that ends before their turn', () => {
  it('do not keep the places of the account for downloads', async () => {
    const path = `/calls/${await recordedCall()}/recording`;
    const headers = { Authorization: `Bearer ${customer.testKey}` };
    const request = rawRequest({ path, headers: { ...headers, Host: `127.0.0.1:${service.port}` } });
    for (let n = 0; n < CONNECTIONS; n++) {
      const socket = await pipeline(Buffer.concat([request, request]));
      // The service has begun to process the second request, too.
      await sleep(300);
      socket.destroy();
    }
    const response = await fetch(`${service.baseUrl}${path}`, { headers: { ...headers, Range: 'bytes=0-99' } });
    expect(response.status).toBe(206);
    expect((await response.arrayBuffer()).byteLength).toBe(100);
  }, 60_000);
});

describe('malformed bytes after a request', () => {
  it('get no response that the client would take for that of the request', async () => {
    const headers = { Authorization: `Bearer ${customer.testKey}`, Host: `127.0.0.1:${service.port}` };
    const request = rawRequest({ path: '/account', headers });
    const socket = connect(service.port, '127.0.0.1', () =>
      socket.write(Buffer.concat([request, Buffer.from('GET / HTTP/9.9\r\n\r\n')])),
    );
    const received: Buffer[] = [];
    socket.on('error', () => undefined).on('data', (bytes: Buffer) => received.push(bytes));
    await new Promise((resolve) => socket.on('close', resolve));
    const text = Buffer.concat(received).toString();
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text).not.toContain('400 Bad Request');
  }, 10_000);
});
