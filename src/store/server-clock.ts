import type { Database } from './database.js';

/** The database server's clock, ms since the epoch: the one clock that all processes share. */
export type ServerClock = () => Promise<number>;

/** How long a reading is carried on by the process's own monotonic clock. */
const MEASURE_EVERY_MS = 60_000;

/** @throws the database's error when it is away and a reading is due */
export function createServerClock(database: Database): ServerClock {
  let base: { serverMs: number; ownMs: number } | undefined;
  return async () => {
    if (base === undefined || performance.now() - base.ownMs > MEASURE_EVERY_MS) {
      const client = database.connection.getClient();
      const before = performance.now();
      // By its old name, which real servers and the embedded one both know.
      const { localTime } = await client.db(database.connection.name).command({ isMaster: 1 });
      if (!(localTime instanceof Date)) throw new Error('the database does not tell its time');
      const serverMs = localTime.getTime();
      base = { serverMs, ownMs: (before + performance.now()) / 2 };
    }
    return Math.round(base.serverMs + performance.now() - base.ownMs);
  };
}
