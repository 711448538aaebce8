import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createIndexes } from '../../../src/platform/mongo/indexes.js';
import { openDatabase } from '../../../src/database.js';
import { createPorts } from '../../../src/dev/processes/free-port.js';
import { prepareMongodb } from '../../../src/dev/servers/servers.js';
import { probeTemporal } from '../../../src/dev/servers/temporal/start-temporal.js';
import { startTimeSkippingEnvironment } from '../../support/time-skipping-environment';
import { sidOf } from '../../support/sids.js';

describe('the servers of the tests', () => {
  it('store documents, build every index and reject a duplicate', async () => {
    const database = await openDatabase(`${process.env.TEST_MONGODB_URI}/launch_${randomUUID()}`);
    try {
      await createIndexes(database);
      await database.carrierBindings.create({ _id: 'call_a', carrierSid: sidOf('CA', 1), boundAt: new Date() });
      const again = database.carrierBindings.create({ _id: 'call_b', carrierSid: sidOf('CA', 1), boundAt: new Date() });
      await expect(again).rejects.toMatchObject({ code: 11_000 });
      await expect(database.carrierBindings.countDocuments()).resolves.toBe(1);
    } finally {
      await database.close();
    }
  });

  it('return the result of each of several updates of one document at the same time', async () => {
    const database = await openDatabase(`${process.env.TEST_MONGODB_URI}/launch_${randomUUID()}`);
    try {
      const counters = database.connection.collection<{ _id: string; count: number }>('counters');
      const increment = () =>
        counters.findOneAndUpdate(
          { _id: 'a' },
          { $inc: { count: 1 } },
          { upsert: true, returnDocument: 'after', includeResultMetadata: false },
        );
      await increment();
      const updated = await Promise.all(Array.from({ length: 50 }, increment));
      const counts = updated.map((document) => document?.count ?? Number.NaN);
      expect(counts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => index + 2));
    } finally {
      await database.close();
    }
  });

  it('find a document by its id without reading the others, whatever else the query demands', async () => {
    const database = await openDatabase(`${process.env.TEST_MONGODB_URI}/launch_${randomUUID()}`);
    try {
      const documents = database.connection.collection<{ _id: string; count: number }>('documents');
      await documents.insertMany(Array.from({ length: 20_000 }, (_, n) => ({ _id: `id ${n}`, count: 0 })));
      const msOf = async (condition: object) => {
        const began = performance.now();
        for (let n = 0; n < 200; n++) {
          expect(await documents.findOne({ _id: `no ${n}`, ...condition })).toBeNull();
        }
        return performance.now() - began;
      };
      await msOf({});
      expect(await msOf({ count: { $lt: 1 } })).toBeLessThan(4 * (await msOf({})));
      await documents.updateOne({ _id: 'id 1', count: { $lt: 1 } }, { $inc: { count: 1 } });
      await expect(documents.updateOne({ _id: 'id 1', count: 0 }, { $inc: { count: 1 } })).resolves.toMatchObject({
        matchedCount: 0,
      });
    } finally {
      await database.close();
    }
  });

  it('know all our search attributes', async () => {
    await expect(probeTemporal(process.env.TEST_TEMPORAL_ADDRESS ?? '')).resolves.toBeUndefined();
  });

  it('include a Temporal server that skips time', async () => {
    const environment = await startTimeSkippingEnvironment();
    try {
      const before = await environment.currentTimeMs();
      await environment.sleep('1 hour');
      expect((await environment.currentTimeMs()) - before).toBeGreaterThanOrEqual(3_600_000);
    } finally {
      await environment.teardown();
    }
  });
});

describe('the launcher', () => {
  it('uses the database whose address is in a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'callwright-launcher-'));
    const ports = createPorts(process.env);
    try {
      const uri = 'mongodb://127.0.0.1:1/callwright';
      const file = join(folder, 'mongodb');
      await writeFile(file, `${uri}\n`);
      const deps = { dataFolder: folder, ports, report: () => undefined, signal: new AbortController().signal };
      expect(await prepareMongodb({ ...deps, env: { MONGODB_URI_FILE: file } })).toEqual({ uri });
    } finally {
      await ports.release();
      await rm(folder, { recursive: true });
    }
  });
});
