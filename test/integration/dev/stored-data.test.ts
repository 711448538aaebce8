import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { mongo } from 'mongoose';
import { createPorts } from '../../../src/dev/processes/free-port.js';
import { findMongodb } from '../../../src/dev/servers/mongodb/find-mongodb.js';
import { mongodbUri, startMongodb } from '../../../src/dev/servers/mongodb/start-mongodb.js';

type Id = string | number | mongo.ObjectId;
type Person = Record<string, unknown> & { _id: Id };

const ZOE = new mongo.ObjectId('65f0a1b2c3d4e5f601234567');
const ADA = {
  _id: 'a',
  name: 'Ada',
  born: 1_815,
  email: 'ada@example.com',
  at: new Date(0),
  tags: ['x', { y: null }],
  big: mongo.Long.fromString('9007199254740993'),
  ratio: 0.5,
  ok: true,
};
const BOB = { _id: 'b', name: 'Bob', born: null, bytes: new mongo.Binary(Buffer.from([1, 2, 3])) };
/** The content of `data-of-0.2.mv.gz`, which the server of release 0.2 stored with two unique indexes. */
const PEOPLE: Person[] = [ADA, BOB, { _id: ZOE, name: 'Zoë', email: 'zoe@example.com' }, { _id: 7, name: 'Seven' }];

const ports = createPorts(process.env);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callwright-stored-'));
});

afterAll(async () => {
  await ports.release();
  await rm(folder, { recursive: true, force: true });
});

/** Runs the embedded server on a folder for as long as `act` takes. */
async function withServer(dataFolder: string, act: (people: mongo.Collection<Person>) => Promise<void>): Promise<void> {
  const program = await findMongodb({ env: process.env, report: () => undefined, dataFolder });
  expect(program.kind).toBe('embedded');
  const port = await ports.take();
  const server = await startMongodb({ program, dataFolder, port, env: process.env });
  const client = new mongo.MongoClient(mongodbUri(program, port, 'older'), { promoteLongs: false });
  try {
    await act((await client.connect()).db('older').collection<Person>('people'));
  } finally {
    await client.close();
    await server.stop();
  }
}

const byName = (people: mongo.Collection<Person>) => people.find().sort({ name: 1 }).toArray();

describe('the data of the embedded server', () => {
  it('stays complete and unique when an earlier release has stored it', async () => {
    const dataFolder = join(folder, 'older');
    await mkdir(dataFolder);
    const older = await readFile(join(__dirname, 'data-of-0.2.mv.gz'));
    await writeFile(join(dataFolder, 'data.mv'), gunzipSync(older));

    await withServer(dataFolder, async (people) => {
      await expect(byName(people)).resolves.toEqual([ADA, BOB, PEOPLE[3], PEOPLE[2]]);
      for (const person of PEOPLE) await expect(people.findOne({ _id: person._id })).resolves.toEqual(person);
      await expect(people.insertOne({ _id: 'a' })).rejects.toMatchObject({ code: 11_000 });
      await expect(people.insertOne({ _id: 'n', name: 'Ada', born: 1_815 })).rejects.toMatchObject({ code: 11_000 });
      await expect(people.insertOne({ _id: 'n', name: 'Seven' })).rejects.toMatchObject({ code: 11_000 });
      await expect(people.insertOne({ _id: 'n', email: 'zoe@example.com' })).rejects.toMatchObject({ code: 11_000 });
      await people.updateOne({ _id: 7 }, { $set: { email: 'seven@example.com' } });
      await people.deleteOne({ _id: ZOE });
      await people.insertOne({ _id: 'n', email: 'zoe@example.com' });
    });

    await withServer(dataFolder, async (people) => {
      await expect(people.insertOne({ _id: 'm', email: 'seven@example.com' })).rejects.toMatchObject({ code: 11_000 });
      await expect(people.insertOne({ _id: 'm', email: 'zoe@example.com' })).rejects.toMatchObject({ code: 11_000 });
      await expect(people.findOne({ _id: 'a' })).resolves.toEqual(ADA);
      await expect(people.countDocuments()).resolves.toBe(4);
    });
  });

  it('returns what was stored after the server has started again', async () => {
    const dataFolder = join(folder, 'new');
    await mkdir(dataFolder);
    await writeFile(join(dataFolder, 'data.mv'), '');
    const others = Array.from({ length: 300 }, (_, n) => ({ _id: `id ${n}`, name: `name ${n}`, text: 'é'.repeat(n) }));
    await withServer(dataFolder, async (people) => {
      await people.createIndex({ name: 1, born: 1 }, { unique: true });
      await people.createIndex({ at: 1, ok: 1, ratio: 1 }, { unique: true, sparse: true });
      await people.insertMany([...PEOPLE, ...others]);
      await people.deleteOne({ _id: 'id 7' });
    });
    await withServer(dataFolder, async (people) => {
      for (const person of [...PEOPLE, ...others.filter(({ _id }) => _id !== 'id 7')])
        await expect(people.findOne({ _id: person._id })).resolves.toEqual(person);
      const { at, ok, ratio } = ADA;
      await expect(people.insertOne({ _id: 'n', at, ok, ratio })).rejects.toMatchObject({ code: 11_000 });
      await expect(people.insertOne({ _id: 'o', at, ok: false, ratio })).resolves.toMatchObject({ acknowledged: true });
      await expect(people.insertOne({ _id: 'n', name: 'name 8' })).rejects.toMatchObject({ code: 11_000 });
      await expect(people.insertOne({ _id: 'n', name: 'name 7' })).resolves.toMatchObject({ acknowledged: true });
    });
  });
});
