import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openBrowserLine } from '../integration/web/browser-line';
import { maskedFrame, openRaw } from '../integration/web/raw-socket';
import { useWebStack, type WebStack } from '../integration/web/web-stack';
import type { Customer } from '../support/http/harness.js';

jest.setTimeout(60_000);

/** Frames that a client sends at once, in a few packets. */
const FLOOD = 5_000;
/** Less than the time for the token (2 s), which also ends a socket. */
const SOON_MS = 1_500;
/** Sockets that send a chunk of frames at the same moment, as one client may. */
const SOCKETS = 300;
const CHUNK_BYTES = 60_000;
const MESSAGE = 0x1;
const PING = 0x9;
const PONG = 0xa;

let stack: WebStack;
let customer: Customer;
useWebStack((started) => ({ stack, customer } = started));

/** Frames without a payload. */
const framesOf = (opcode: number, count: number) =>
  Buffer.concat(Array.from({ length: count }, () => maskedFrame(opcode)));

const endOf = (socket: Socket) => new Promise<'ended'>((resolve) => socket.once('close', () => resolve('ended')));

describe('frames without a limit on the sockets of browsers', () => {
  it.each([
    ['empty messages', MESSAGE],
    ['pings', PING],
    ['pongs', PONG],
  ])('end a socket that is not admitted: %s', async (_what, opcode) => {
    const socket = await openRaw(stack.urlAt(`call_${'0'.repeat(26)}`, stack.mediaPort));
    const ended = endOf(socket);
    socket.write(framesOf(opcode, FLOOD));
    expect(await Promise.race([ended, sleep(SOON_MS, 'still open')])).toBe('ended');
  });

  it('of many sockets at once take little more time than as many bytes in one frame', async () => {
    const msOf = async (flood: Buffer) => {
      const url = stack.urlAt(`call_${'0'.repeat(26)}`, stack.mediaPort);
      const sockets = await Promise.all(Array.from({ length: SOCKETS }, () => openRaw(url)));
      const ended = sockets.map(endOf);
      const before = process.cpuUsage();
      for (const socket of sockets) socket.write(flood);
      await Promise.all(ended);
      return process.cpuUsage(before).user / 1_000;
    };
    const frames = framesOf(PING, CHUNK_BYTES / maskedFrame(PING).length);
    const bytes = maskedFrame(MESSAGE, 'x'.repeat(frames.length - 8));
    await msOf(bytes);
    expect(await msOf(frames)).toBeLessThan(3 * (await msOf(bytes)) + 100);
  });

  it('end a rejected socket that does not answer the close', async () => {
    const socket = await openRaw(stack.urlAt(`call_${'0'.repeat(26)}`, stack.mediaPort));
    const ended = endOf(socket);
    socket.write(framesOf(MESSAGE, 1));
    await sleep(200);
    socket.write(framesOf(PONG, FLOOD));
    expect(await Promise.race([ended, sleep(SOON_MS, 'still open')])).toBe('ended');
  });

  it('end an admitted socket that sends pongs without being pinged', async () => {
    const line = await openBrowserLine(await stack.create(customer.liveKey));
    await line.ready();
    for (let n = 0; n < FLOOD; n++) line.pong();
    expect((await line.closed()).code).toBe(1008);
  });
});
