import { createCredentialCache } from '../../src/identity/credentials/credential-cache.js';

/** A cache with a clock and polls that the test controls. */
function controlledCache(options: { maxEntries?: number } = {}) {
  let time = 0;
  const polls: { resolve: (epoch: string | null) => void; reject: (error: Error) => void }[] = [];
  const cache = createCredentialCache<string>({
    ...options,
    now: () => time,
    readEpoch: () => new Promise((resolve, reject) => polls.push({ resolve, reject })),
  });
  const settled = async () => {
    for (let n = 0; n < 4; n++) await Promise.resolve();
  };
  return {
    cache,
    polls,
    wait: (ms: number) => void (time += ms),
    /** Answers the poll in progress. */
    answer: async (epoch: string | null | Error): Promise<void> => {
      const poll = polls.at(-1)!;
      if (epoch instanceof Error) poll.reject(epoch);
      else poll.resolve(epoch);
      await settled();
    },
  };
}

/** A cache that has polled and has an entry, both at time 0. */
async function warmCache(options: { maxEntries?: number } = {}) {
  const warm = controlledCache(options);
  warm.cache.find('key');
  await warm.answer('e1');
  warm.cache.add('key', warm.cache.beginRead(), 'value');
  return warm;
}

describe('a cached credential', () => {
  it('counts for a second from the beginning of the last successful poll, however late its response was', async () => {
    const { cache, answer, wait } = controlledCache();
    cache.find('key');
    wait(900);
    await answer('e1');
    cache.add('key', cache.beginRead(), 'value');
    wait(99);
    expect(cache.find('key')).toBe('value');
    wait(1);
    expect(cache.find('key')).toBeUndefined();
  });

  it('counts again when a later poll finds the same epoch, and never when it finds another', async () => {
    const { cache, answer, wait } = await warmCache();
    wait(5_000);
    expect(cache.find('key')).toBeUndefined();
    await answer('e1');
    expect(cache.find('key')).toBe('value');
    wait(400);
    cache.find('key');
    await answer('e2');
    expect(cache.find('key')).toBeUndefined();
  });

  it('stops counting while polls fail', async () => {
    const { cache, answer, wait, polls } = await warmCache();
    for (let n = 0; n < 2; n++) {
      wait(400);
      expect(cache.find('key')).toBe('value');
      await answer(new Error('no server'));
    }
    wait(200);
    expect(cache.find('key')).toBeUndefined();
    expect(polls).toHaveLength(3);
  });

  it('is not made by a read that began before the first poll, a new epoch or a change of this process', async () => {
    const { cache, answer, wait } = controlledCache();
    cache.find('key');
    const before = cache.beginRead();
    cache.add('key', before, 'too early');
    await answer('e1');
    cache.add('key', before, 'too early');
    expect(cache.find('key')).toBeUndefined();

    const second = cache.beginRead();
    wait(400);
    cache.find('key');
    await answer('e2');
    cache.add('key', second, 'before the new epoch');
    expect(cache.find('key')).toBeUndefined();

    const third = cache.beginRead();
    cache.dropAll();
    cache.add('key', third, 'before the change');
    expect(cache.find('key')).toBeUndefined();
  });

  it('is read again after ten seconds, even if the epoch stays the same', async () => {
    const { cache, answer, wait } = await warmCache();
    for (let n = 0; n < 19; n++) {
      wait(500);
      expect(cache.find('key')).toBe('value');
      await answer('e1');
    }
    wait(500);
    expect(cache.find('key')).toBeUndefined();
  });
});

describe('the cache of credentials', () => {
  it('polls only when it is asked, at most every 400 ms, and once at a time', async () => {
    const { cache, answer, wait, polls } = await warmCache();
    wait(399);
    cache.find('key');
    expect(polls).toHaveLength(1);
    wait(60_000);
    expect(polls).toHaveLength(1);
    cache.find('key');
    wait(5_000);
    cache.find('key');
    expect(polls).toHaveLength(2);
    await answer('e1');
    cache.find('key');
    expect(polls).toHaveLength(3);
  });

  it('is bounded: the oldest entries make room', async () => {
    const { cache } = await warmCache({ maxEntries: 100 });
    for (let n = 0; n < 100_000; n++) cache.add(`key ${n}`, cache.beginRead(), 'value');
    expect(cache.size()).toBe(100);
    expect(cache.find('key 99999')).toBe('value');
    expect(cache.find('key')).toBeUndefined();
  });
});
