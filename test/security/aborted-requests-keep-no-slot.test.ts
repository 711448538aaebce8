import { connect } from 'node:net';
import { startService, type Customer, type Service } from '../support/http/harness.js';

/** More than the requests of an account that run at once. */
const ABORTED = 60;

let service: Service;
let customer: Customer;
beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer();
}, 60_000);
afterAll(() => service.close());

/** Sends the headers of a request with a body, and breaks the connection soon after. */
function abort(method: string, path: string, afterMs: number): Promise<void> {
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${customer.liveKey}`,
    'Content-Type: application/json',
    'Content-Length: 12',
  ];
  return new Promise((resolve) => {
    const socket = connect(service.port, '127.0.0.1', () => {
      socket.write(`${head.join('\r\n')}\r\n\r\n`);
      setTimeout(() => socket.destroy(), afterMs);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
  });
}

describe('a client that disconnects before its body is read', () => {
  it.each([
    ['PATCH', () => `/agents/${customer.agent._id}`],
    ['POST', () => '/outbound_call'],
    ['POST', () => '/agents'],
  ])('leaves its account the slots for other requests: %s', async (method, path) => {
    for (let n = 0; n < ABORTED; n += 1) await abort(method, path(), n % 4);
    const given = { method: 'PATCH', key: customer.liveKey, headers: { 'Content-Type': 'application/json' } };
    const agent = `/agents/${customer.agent._id}`;
    expect((await service.request(agent, { key: customer.liveKey })).status).toBe(200);
    expect((await service.request(agent, { ...given, body: JSON.stringify({ name: method }) })).status).toBe(200);
    expect((await service.request('/account', { ...given, body: '{"name":"Acme"}' })).status).toBe(200);
  });
});
