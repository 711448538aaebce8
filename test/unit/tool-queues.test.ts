import { setImmediate as nextEventLoopPass } from 'node:timers/promises';
import { createToolQueues, type ToolUser } from '../../src/voice/tools/tool-queues.js';

const callOf = (callId: string, changes: Partial<ToolUser> = {}): ToolUser => ({
  callId,
  accountId: 'acct_1',
  mode: 'live',
  ...changes,
});
const never = () => new AbortController().signal;
const many = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Work that ends when the test says so. */
function openWork() {
  const ends: (() => void)[] = [];
  return {
    begun: () => ends.length,
    begin: () => new Promise<void>((resolve) => void ends.push(resolve)),
    end: (index: number) => ends[index]?.(),
  };
}

async function passes(count: number): Promise<void> {
  for (let pass = 0; pass < count; pass++) await nextEventLoopPass();
}

/** Counts the passes of the event loop until it is stopped. */
function countPasses() {
  let count = 0;
  let running = true;
  const next = () => {
    count += 1;
    if (running) setImmediate(next);
  };
  setImmediate(next);
  return { count: () => count, stop: () => void (running = false) };
}

describe('the tool calls of a phone call', () => {
  it('begin one after the other in their order, each in another pass of the event loop', async () => {
    const queues = createToolQueues();
    const loop = countPasses();
    const begun: { index: number; pass: number }[] = [];
    await Promise.all(
      many(10).map((index) =>
        queues.begin(callOf('call_1'), never(), async () => void begun.push({ index, pass: loop.count() })),
      ),
    );
    loop.stop();
    expect(begun.map(({ index }) => index)).toEqual(many(10));
    expect(new Set(begun.map(({ pass }) => pass)).size).toBe(10);
  });

  it('do not wait for those of another one, and continue after one that fails', async () => {
    const queues = createToolQueues();
    const { begin: work, end, begun } = openWork();
    const first = queues.begin(callOf('call_1'), never(), work);
    await passes(3);
    expect(await queues.begin(callOf('call_2'), never(), async () => 'other')).toBe('other');
    const failing = queues.begin(callOf('call_1'), never(), () => Promise.reject(new Error('broken')));
    const last = queues.begin(callOf('call_1'), never(), async () => 'last');
    expect(begun()).toBe(1);
    end(0);
    await first;
    await expect(failing).rejects.toThrow('broken');
    expect(await last).toBe('last');
  });

  it('that wait for too long leave the queue, and later ones begin', async () => {
    const queues = createToolQueues();
    const { begin: work, end } = openWork();
    const first = queues.begin(callOf('call_1'), never(), work);
    const waiting = new AbortController();
    let ran = false;
    const second = queues.begin(callOf('call_1'), waiting.signal, async () => void (ran = true));
    const third = queues.begin(callOf('call_1'), never(), async () => 'third');
    await passes(3);
    waiting.abort(new Error('too late'));
    await expect(second).rejects.toThrow('too late');
    end(0);
    await first;
    expect(await third).toBe('third');
    expect(ran).toBe(false);
  });
});

describe('what takes milliseconds', () => {
  it('is computed once in each pass of the event loop, whatever the number of calls', async () => {
    const queues = createToolQueues();
    const loop = countPasses();
    const computed = await Promise.all(
      many(20).map((index) =>
        queues.compute(callOf(`call_${index % 5}`, { accountId: `acct_${index % 3}` }), loop.count),
      ),
    );
    loop.stop();
    expect(new Set(computed).size).toBe(20);
  });

  it('is computed for accounts and modes in fair order', async () => {
    const queues = createToolQueues();
    const order: string[] = [];
    const busy = (name: string) => () => {
      order.push(name);
      for (const until = performance.now() + 3; performance.now() < until;);
    };
    const greedy = callOf('call_1', { accountId: 'acct_greedy', mode: 'test' });
    const waiting = many(10).map(() => queues.compute(greedy, busy('greedy')));
    waiting.push(queues.compute(callOf('call_2', { mode: 'test' }), busy('test')));
    waiting.push(queues.compute(callOf('call_3'), busy('live')));
    await Promise.all(waiting);
    expect(order.slice(0, 3)).toEqual(['greedy', 'live', 'test']);
  });
});

describe('requests to the servers of tools', () => {
  it('are at most 8 at once in a phone call; the next one begins when one ends', async () => {
    const queues = createToolQueues();
    const { begin, begun, end } = openWork();
    const all = many(10).map(() => queues.request(callOf('call_1'), never(), begin));
    await passes(3);
    expect(begun()).toBe(8);
    end(3);
    await passes(3);
    expect(begun()).toBe(9);
    for (const index of many(9)) end(index);
    await passes(3);
    end(9);
    await Promise.all(all);
  });

  it('are at most 64 at once in the calls of an account, in each mode', async () => {
    const queues = createToolQueues();
    const { begin, begun, end } = openWork();
    const ask = (changes: Partial<ToolUser>) =>
      many(100).map((index) => queues.request(callOf(`call_${index % 20}`, changes), never(), begin));
    const all = [...ask({}), ...ask({ mode: 'test' }), ...ask({ accountId: 'acct_2' })];
    await passes(3);
    expect(begun()).toBe(3 * 64);
    for (let ended = 0; ended < 300; ended++) {
      end(ended);
      await passes(1);
    }
    await Promise.all(all);
  });

  it('that wait for too long are never made', async () => {
    const queues = createToolQueues();
    const { begin, begun, end } = openWork();
    const all = many(8).map(() => queues.request(callOf('call_1'), never(), begin));
    const late = queues.request(callOf('call_1'), AbortSignal.timeout(20), begin);
    await expect(late).rejects.toThrow('timeout');
    for (const index of many(8)) end(index);
    await Promise.all(all);
    expect(begun()).toBe(8);
  });
});
