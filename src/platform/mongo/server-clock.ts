import { createHash } from 'node:crypto';
import { driverCollection } from './driver-collection.js';
import type { PlatformDatabase } from './platform-database.js';
import { optimisticUpdate } from './optimistic-update.js';
import type { ServerClockDocument } from './server-clock-model.js';

/**
 * Returns the database's time, ms since the epoch. It is the only clock that all processes share. It does not jump when
 * another node of a replica set becomes the primary. Behind several routers (mongos) it is that of the router that
 * responds.
 */
export type ServerClock = () => Promise<number>;

/** How long to compute the time from the last reading and the process's monotonic clock, before reading again. */
const READ_EVERY_MS = 60_000;

/** For how many intervals a reading tells the time well enough to compare another node's clock with it. */
const INTERVALS_OF_USE = 10;
/** Largest difference between nodes that is evened out. A larger one is a fault that the nodes' own clocks must mend. */
const MAX_OFFSET_MS = 10_000;

/** Number of readings. The one with the shortest round trip is the most accurate. */
const SAMPLES = 5;

interface Sample {
  serverMs: number;
  /** Time of the reading on the process's monotonic clock, accurate to half the round trip. */
  ownMs: number;
  roundTripMs: number;
  /** The node that responded; undefined unless it is a member of a replica set. Routers (mongos) do not name themselves. */
  node: string | undefined;
}

interface Reading extends Sample {
  /** Difference to add to the node's clock, in ms. */
  offsetMs: number;
}

/** Creates a clock. It rejects with the database's error if a reading is due and the database is unavailable. */
export function createServerClock(
  database: PlatformDatabase,
  { readEveryMs = READ_EVERY_MS }: { readEveryMs?: number } = {},
): ServerClock {
  let reading: Promise<Reading> | undefined;
  let last: Reading | undefined;
  let readAt = 0;

  async function sample(): Promise<Sample> {
    const client = database.connection.getClient();
    const before = performance.now();
    // `isMaster` is the old name of `hello`; both real servers and the embedded one support it.
    const { localTime, me } = await client.db(database.connection.name).command({ isMaster: 1 });
    const after = performance.now();
    if (!(localTime instanceof Date)) throw new Error('the database does not report its time');
    const node = typeof me === 'string' ? me : undefined;
    return { serverMs: localTime.getTime(), ownMs: (before + after) / 2, roundTripMs: after - before, node };
  }

  async function read(): Promise<Reading> {
    let best = await sample();
    for (let i = 1; i < SAMPLES; i++) {
      const next = await sample();
      if (next.node !== best.node || next.roundTripMs < best.roundTripMs) best = next;
    }
    last = { ...best, offsetMs: await offsetOf(best) };
    return last;
  }

  async function offsetOf({ node, serverMs, ownMs }: Sample): Promise<number> {
    if (node === undefined) return 0;
    if (node === last?.node) return last.offsetMs;
    const known = last !== undefined && ownMs - last.ownMs <= INTERVALS_OF_USE * readEveryMs ? last : undefined;
    const offsetMs = known === undefined ? 0 : Math.round(timeAt(known, ownMs) - serverMs);
    return agreeOnOffset(database, node, Math.abs(offsetMs) <= MAX_OFFSET_MS ? offsetMs : 0);
  }

  return async () => {
    if (reading === undefined || performance.now() - readAt > readEveryMs) {
      readAt = performance.now();
      reading = read();
      reading.catch(() => (reading = undefined));
    }
    return Math.round(timeAt(await reading, performance.now()));
  };
}

function timeAt({ serverMs, offsetMs, ownMs }: Reading, nowMs: number): number {
  return serverMs + offsetMs + nowMs - ownMs;
}

/**
 * Stores what to add to a node's clock, so that all processes add the same.
 * @param ownMs what this process found
 * @returns what the first process found that read this node's clock
 */
async function agreeOnOffset(database: PlatformDatabase, node: string, ownMs: number): Promise<number> {
  const id = 'offsets';
  const key = nodeKey(node);
  const documents = driverCollection<ServerClockDocument>(database, database.serverClocks);
  return optimisticUpdate<ServerClockDocument, number>(
    documents,
    id,
    (found) => {
      const known = found?.offsets[key];
      if (known !== undefined) return { answer: known };
      if (found === null) return { answer: ownMs, insert: { _id: id, offsets: { [key]: ownMs } } };
      const path = `offsets.${key}`;
      return { answer: ownMs, when: { [path]: { $exists: false } }, update: { $set: { [path]: ownMs } } };
    },
    { name: 'server_clock' },
  );
}

/** A field name for a node, whose address contains dots. */
function nodeKey(node: string): string {
  return createHash('sha256').update(node).digest('hex').slice(0, 16);
}
