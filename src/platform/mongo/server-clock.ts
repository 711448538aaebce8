import type { PlatformDatabase } from './platform-database.js';

/** Returns the database server's time, ms since the epoch. It is the only clock that all processes share. */
export type ServerClock = () => Promise<number>;

/** How long to compute the time from the last reading and the process's monotonic clock, before reading again. */
const READ_EVERY_MS = 60_000;

/** Number of readings. The one with the shortest round trip is the most accurate. */
const SAMPLES = 5;

interface Reading {
  serverMs: number;
  /** Time of the reading on the process's monotonic clock, accurate to half the round trip. */
  ownMs: number;
  roundTripMs: number;
}

/** Creates a clock. It rejects with the database's error if a reading is due and the database is unavailable. */
export function createServerClock(database: PlatformDatabase): ServerClock {
  let reading: Promise<Reading> | undefined;
  let readAt = 0;

  async function sample(): Promise<Reading> {
    const client = database.connection.getClient();
    const before = performance.now();
    // `isMaster` is the old name of `hello`; both real servers and the embedded one support it.
    const { localTime } = await client.db(database.connection.name).command({ isMaster: 1 });
    const after = performance.now();
    if (!(localTime instanceof Date)) throw new Error('the database does not report its time');
    return { serverMs: localTime.getTime(), ownMs: (before + after) / 2, roundTripMs: after - before };
  }

  async function read(): Promise<Reading> {
    let best = await sample();
    for (let i = 1; i < SAMPLES; i++) {
      const next = await sample();
      if (next.roundTripMs < best.roundTripMs) best = next;
    }
    return best;
  }

  return async () => {
    if (reading === undefined || performance.now() - readAt > READ_EVERY_MS) {
      readAt = performance.now();
      reading = read();
      reading.catch(() => (reading = undefined));
    }
    const { serverMs, ownMs } = await reading;
    return Math.round(serverMs + performance.now() - ownMs);
  };
}
