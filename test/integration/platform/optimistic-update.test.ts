import type { mongo } from 'mongoose';
import pino from 'pino';
import type { Database } from '../../../src/database.js';
import {
  ContentionError,
  optimisticUpdate,
  type UpdateDecision,
} from '../../../src/platform/mongo/optimistic-update.js';
import { watchContention } from '../../../src/platform/telemetry/contention.js';
import { observe } from '../../../src/platform/telemetry/measurements.js';
import { openTestDatabase } from '../../support/store/test-database.js';

interface Counter {
  _id: string;
  version: number;
  count: number;
}

describe('an optimistic update', () => {
  let database: Database;
  let counters: mongo.Collection<Counter>;
  beforeAll(async () => {
    database = await openTestDatabase('optimistic');
    counters = database.connection.getClient().db(database.connection.name).collection<Counter>('counters');
  });
  afterAll(() => database.close());

  /** Returns a collection that records the commands sent to it. */
  function observed() {
    const commands: string[] = [];
    const observe = (name: 'findOne' | 'updateOne' | 'insertOne') =>
      ((...args: never[]) => {
        commands.push(name);
        return (counters[name] as (...given: never[]) => unknown).apply(counters, args);
      }) as never;
    const collection = {
      findOne: observe('findOne'),
      updateOne: observe('updateOne'),
      insertOne: observe('insertOne'),
    };
    return { collection, commands };
  }

  const increment =
    (_id: string) =>
    (found: Counter | null): UpdateDecision<Counter, number> => {
      if (found === null) return { answer: 1, insert: { _id, version: 1, count: 1 } };
      const { version, count } = found;
      return { answer: count + 1, when: { version }, update: { $set: { version: version + 1, count: count + 1 } } };
    };

  it('loses no change of concurrent writers, and returns to each the count that it wrote', async () => {
    const retries = { name: 'leases', mostTries: 1_000 } as const;
    const writers = Array.from({ length: 30 }, () => optimisticUpdate(counters, 'many', increment('many'), retries));
    const answers = await Promise.all(writers);
    expect(answers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
    expect(await counters.findOne({ _id: 'many' })).toMatchObject({ version: 30, count: 30 });
  });

  it('reads once and writes once without a conflict', async () => {
    const { collection, commands } = observed();
    const update = () => optimisticUpdate(collection, 'quiet', increment('quiet'), { name: 'leases' });
    await update();
    await update();
    expect(commands).toEqual(['findOne', 'insertOne', 'findOne', 'updateOne']);
  });

  it('sends one command for a blind update, and reads only when its condition fails', async () => {
    await counters.insertOne({ _id: 'blind', version: 1, count: 0 });
    const { collection, commands } = observed();
    const blind = { answer: 'blind', when: { count: 0 }, update: { $inc: { count: 1 } } };
    const update = () => optimisticUpdate(collection, 'blind', () => ({ answer: 'looked' }), { name: 'leases', blind });
    expect(await update()).toBe('blind');
    expect(commands).toEqual(['updateOne']);
    expect(await update()).toBe('looked');
    expect(commands).toEqual(['updateOne', 'updateOne', 'findOne']);
  });

  it('writes nothing when the decision is to keep the document', async () => {
    const { collection, commands } = observed();
    expect(await optimisticUpdate(collection, 'none', () => ({ answer: 7 }), { name: 'leases' })).toBe(7);
    expect(commands).toEqual(['findOne']);
  });

  it('gives up after its maximum number of attempts and reports the retries', async () => {
    await counters.insertOne({ _id: 'lost', version: 1, count: 0 });
    const lines: Record<string, unknown>[] = [];
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
    const reported: unknown[] = [];
    const forget = observe('contention', (contention) => reported.push(contention));
    const watch = watchContention({ logger });
    const pauses: number[] = [];
    const lost = optimisticUpdate(
      counters,
      'lost',
      (): UpdateDecision<Counter, void> => ({
        answer: undefined,
        when: { version: 0 },
        update: { $inc: { count: 1 } },
      }),
      { name: 'leases', maxAttempts: 3, pause: async (tries) => void pauses.push(tries) },
    );
    await expect(lost).rejects.toThrow(ContentionError);
    watch.close();
    forget();
    expect(pauses).toEqual([1, 2]);
    expect(reported).toEqual([{ name: 'leases', retries: 2, gaveUp: true }]);
    expect(lines).toMatchObject([{ msg: 'writes tried again', name: 'leases', retries: 2, gaveUp: 1 }]);
    expect(await counters.findOne({ _id: 'lost' })).toMatchObject({ count: 0 });
  });
});
