import type { Socket } from 'node:net';
import { openBrowserLine } from '../integration/web/browser-line';
import { maskedFrame, openRaw, TEXT } from '../integration/web/raw-socket';
import { useWebStack, type WebCall, type WebStack } from '../integration/web/web-stack';
import type { Customer } from '../support/http/harness.js';

jest.setTimeout(60_000);

const MOST_CALLS = 4;

let stack: WebStack;
let customer: Customer;
useWebStack((started) => ({ stack, customer } = started), { env: { MEDIA_MAX_CALLS: String(MOST_CALLS) } });

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Sends a genuine token on a socket that does not answer the close. Returns the service's reason for the end. */
async function openStubborn({ url, token }: WebCall): Promise<string | undefined> {
  const socket = await openRaw(url);
  sockets.push(socket);
  const rejection = new Promise<string | undefined>((resolve) => {
    let received = '';
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      const [, reason] = /"reason":"(\w+)"/.exec(received) ?? [];
      if (reason !== undefined) resolve(reason);
    });
    socket.once('close', () => resolve(undefined));
  });
  socket.write(maskedFrame(TEXT, JSON.stringify({ event: 'start', token })));
  return rejection;
}

it('browsers that get no stream, and stay, take no streams from calls of others', async () => {
  // Test calls of one account may have half of the slots that are left, so the second one must come again.
  const first = await openBrowserLine(await stack.create(customer.testKey));
  await first.ready();
  const second = await stack.create(customer.testKey);
  for (let n = 0; n < 2 * MOST_CALLS; n++) expect(await openStubborn(second)).toBe('reconnect');
  expect(sockets.filter((socket) => !socket.closed)).not.toHaveLength(0);

  const readiness = await fetch(`http://127.0.0.1:${stack.mediaPort}/health/ready`);
  expect(await readiness.json()).toMatchObject({ status: 'ready' });
  const live = await openBrowserLine(await stack.create((await stack.service.customer()).liveKey));
  await live.ready();
});
