import { setImmediate as turn } from 'node:timers/promises';
import { tryEach, trySeveral } from '../../src/platform/try-each.js';

const ITEMS = [1, 2, 3, 4, 5, 6];
const until = Infinity;
const ignored = () => undefined;

/** Work that notes its items, and fails for one of them. */
function createWork(failing?: number) {
  const begun: number[] = [];
  const finished: number[] = [];
  async function work(item: number): Promise<number> {
    begun.push(item);
    for (let turns = 0; turns < item; turns += 1) await turn();
    if (item === failing) throw new Error('failed');
    finished.push(item);
    return item * 10;
  }
  return { begun, finished, work };
}

it('does all items, each once, some at once', async () => {
  const { begun, work } = createWork();
  const results = trySeveral(ITEMS, 3, { until, failed: ignored, work });
  expect(begun).toEqual([1, 2, 3]);
  expect((await results).toSorted((a, b) => a - b)).toEqual([10, 20, 30, 40, 50, 60]);
  expect(begun).toEqual(ITEMS);
});

it('does the others if one fails, and returns the results of those', async () => {
  const failures: unknown[] = [];
  const failed = (error: unknown, item: number) => void failures.push([String(error), item]);
  const { work } = createWork(2);
  expect(await trySeveral(ITEMS, 2, { until, failed, work })).toHaveLength(5);
  expect(await tryEach(ITEMS, { until, failed, work })).toEqual([10, 30, 40, 50, 60]);
  expect(failures).toEqual([
    ['Error: failed', 2],
    ['Error: failed', 2],
  ]);
});

it('begins none when the time is over', async () => {
  const { begun, work } = createWork();
  expect(await trySeveral(ITEMS, 2, { until: Date.now(), failed: ignored, work })).toEqual([]);
  expect(begun).toEqual([]);
});

it('ends with the error of a failure that cannot be handled, after the work in progress, and begins no more', async () => {
  const { begun, finished, work } = createWork(1);
  const failed = () => {
    throw new Error('cannot be handled');
  };
  await expect(trySeveral(ITEMS, 3, { until, failed, work })).rejects.toThrow('cannot be handled');
  expect([begun, finished]).toEqual([
    [1, 2, 3],
    [2, 3],
  ]);
});
