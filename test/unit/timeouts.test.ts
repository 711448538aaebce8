import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ApiContext } from '../../src/platform/http/context.js';
import { abortSignalOf } from '../../src/platform/http/deadline.js';
import { createAccountQueues } from '../../src/platform/http/routing/account-queues.js';
import { createTransport } from '../../src/sdk/transport.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Longer than the rounds of garbage collection take, so that the timeout is pending in all of them. */
const TIMEOUT_MS = 3_000;

/** Lets a few rounds of garbage collection pass. */
async function collectRepeatedly(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await sleep(20);
    collectGarbage();
  }
}

function contextOf(res: EventEmitter): ApiContext {
  const closed = new AbortController().signal;
  return { res, state: { arrivedAt: Date.now(), minDeadlineMs: 0, closed } } as unknown as ApiContext;
}

describe('after garbage collection', () => {
  it('a request still has its deadline', async () => {
    const res = new EventEmitter();
    const aborted = jest.fn();
    (() => abortSignalOf(contextOf(res), Date.now() + TIMEOUT_MS).addEventListener('abort', aborted))();
    await collectRepeatedly();
    expect(aborted).not.toHaveBeenCalled();
    await sleep(TIMEOUT_MS);
    expect(aborted).toHaveBeenCalledTimes(1);
  });

  it('a request that waits in the queue of its account is still rejected in time', async () => {
    const queues = createAccountQueues({ waitTimeoutMs: TIMEOUT_MS });
    const account = { account: { _id: 'acc_1' }, mode: 'live', sender: 'key' } as const;
    const running = [new EventEmitter(), new EventEmitter()];
    const forever = () => new Promise<void>((resolve) => running.forEach((res) => res.once('close', resolve)));
    for (const res of running) void queues.run(contextOf(res), 'export', account, forever);
    const waiting = queues.run(contextOf(new EventEmitter()), 'export', account, forever);
    const outcome = Promise.race([
      waiting.catch((error: Error) => error.message),
      sleep(2 * TIMEOUT_MS, 'still waiting'),
    ]);
    await collectRepeatedly();
    expect(await outcome).toMatch(/^Too many requests of this kind/);
    // As a closed response is, so that no timer waits for its end.
    for (const res of running) Object.assign(res, { closed: true }).emit('close');
  });

  it('a request of the client still times out, with a signal of its caller', async () => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const transport = createTransport({ baseUrl, apiKey: 'key' });
      const caller = new AbortController();
      const outcomes = [
        transport.json('post', '/calls', { accept: 'application/json', timeoutMs: TIMEOUT_MS, signal: caller.signal }),
        transport.json('post', '/calls', {
          accept: 'application/json',
          timeoutMs: 60_000,
          signal: AbortSignal.timeout(TIMEOUT_MS),
        }),
      ].map((sent) =>
        Promise.race([sent.catch((error: Error) => error.message), sleep(2 * TIMEOUT_MS, 'still waiting')]),
      );
      await collectRepeatedly();
      const [byTimeout, byCaller] = await Promise.all(outcomes);
      expect(byTimeout).toMatch(/did not respond in time/);
      expect(byCaller).toMatch(/aborted due to timeout/);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

it('the signal of a request aborts when its response has closed', () => {
  const res = new EventEmitter();
  const signal = abortSignalOf(contextOf(res), Date.now() + 60_000);
  expect(signal.aborted).toBe(false);
  res.emit('close');
  expect(signal.aborted).toBe(true);
  expect(abortSignalOf({ ...contextOf(res), res: { closed: true } } as unknown as ApiContext).aborted).toBe(true);
});
