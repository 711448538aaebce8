import { connect, type Socket } from 'node:net';
import { eventually, startService, type Customer, type Service } from '../support/http/harness.js';

/** More than the requests of an account that run at once. */
const ABORTED = 60;

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer();
}, 60_000);
afterAll(() => service.close());

/** The headers of a change of an agent. */
function headOf(body: string): string {
  const head = [
    `PATCH /agents/${customer.agent._id} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${customer.liveKey}`,
    'Content-Type: application/json',
    body,
  ];
  return `${head.join('\r\n')}\r\n\r\n`;
}

/** Sends the headers of a change, and breaks the connection soon after. */
function abort(afterMs: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(service.port, '127.0.0.1', () => {
      socket.write(headOf('Content-Length: 12'));
      setTimeout(() => socket.destroy(), afterMs);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
  });
}

/** Sends a change with a malformed body, reads the response to its end, and keeps its side of the connection open. */
async function sendMalformedBody(): Promise<Socket> {
  const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  socket.on('data', () => undefined).write(`${headOf('Transfer-Encoding: chunked')}zz\r\n`);
  await new Promise((resolve) => socket.on('end', resolve));
  return socket;
}

const change = () => ({
  method: 'PATCH',
  key: customer.liveKey,
  headers: { 'Content-Type': 'application/json' },
  body: '{"name":"Ada"}',
});

describe('a client that disconnects before its body is read', () => {
  it('leaves its account the slots for other requests', async () => {
    for (let n = 0; n < ABORTED; n += 1) await abort(n % 4);
    const agent = `/agents/${customer.agent._id}`;
    expect((await service.request(agent, { key: customer.liveKey })).status).toBe(200);
    expect((await service.request(agent, change())).status).toBe(200);
    expect((await service.request('/account', change())).status).toBe(200);
  });
});

describe('a client that keeps its side of the connection open after the response to a malformed request', () => {
  it('loses the connection, which would otherwise count as open for ever', async () => {
    const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true });
    const broken = new Promise<Error>((resolve) => socket.on('error', resolve));
    socket.on('data', () => undefined).write('GET / HTTP/9.9\r\n\r\n');
    await new Promise((resolve) => socket.on('end', resolve));
    // The client learns that the other side has closed when it sends something.
    const sending = setInterval(() => socket.write('x'), 500);
    try {
      expect(await broken).toMatchObject({ code: expect.stringMatching(/ECONNRESET|EPIPE/) });
    } finally {
      clearInterval(sending);
      socket.destroy();
    }
  }, 10_000);

  it('leaves its account the slots that its requests had taken', async () => {
    const sockets = await Promise.all(Array.from({ length: ABORTED }, () => sendMalformedBody()));
    try {
      const agent = `/agents/${customer.agent._id}`;
      const isChanged = async () => (await service.request(agent, change())).status === 200;
      expect(await eventually(isChanged, 5_000)).toBe(true);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  }, 30_000);
});
