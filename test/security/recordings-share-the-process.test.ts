import { setImmediate as nextEventLoopPass } from 'node:timers/promises';
import type { Database } from '../../src/database.js';
import { createRecordings } from '../../src/voice/recordings/recordings.js';
import { newCallId, openTestDatabase } from '../support/store/test-database.js';

describe('a recording of an hour that is nearly all silence', () => {
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase('silence');
  });
  afterAll(async () => {
    await database.connection.dropDatabase();
    await database.close();
  });

  it('lets other requests be served after each block', async () => {
    const recordings = createRecordings(database);
    const callId = newCallId();
    const writer = recordings.open({ callId, stream: 0, offsetMs: 3_600_000 }, Promise.resolve(true));
    writer.write(Buffer.alloc(16_000));
    await writer.close();
    const recording = await recordings.read(callId);
    let isOver = false;
    let passes = 0;
    const passing = (async () => {
      for (; !isOver; passes++) await nextEventLoopPass();
    })();
    let [bytes, blocks] = [0, 0];
    for await (const block of recording?.open() ?? []) {
      bytes += (block as Buffer).length;
      blocks += 1;
    }
    isOver = true;
    await passing;
    expect(bytes).toBe(recording?.bytes);
    // The file has 115 MB. A block of silence has 64 KB in the database, and 128 KB in the file.
    expect(blocks).toBeGreaterThan(800);
    expect(passes).toBeGreaterThan(blocks * 0.9);
  }, 30_000);
});
