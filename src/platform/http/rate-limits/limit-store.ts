import type { mongo } from 'mongoose';
import { isDuplicateKey } from '../../mongo/connection.js';
import { driverCollection } from '../../mongo/driver-collection.js';
import type { PlatformDatabase } from '../../mongo/platform-database.js';
import type { LimitStore, LimitWindow } from './leased-limiter.js';
import type { RateLimitDocument } from './rate-limit-model.js';

/** Two processes that begin a window at once need two attempts. */
const ATTEMPTS = 5;

/**
 * Counts points in MongoDB, in the format of rate-limiter-flexible, which other limits and earlier versions use.
 * @param duration of a window, in seconds
 */
export function createLimitStore(database: PlatformDatabase, duration: number): LimitStore {
  const windows = driverCollection<RateLimitDocument>(database, database.rateLimits);
  const after = { returnDocument: 'after' } as const;

  async function joinOrBegin(key: string, points: number, holders: number) {
    const now = new Date();
    const expire = new Date(now.getTime() + duration * 1_000);
    const change = { $inc: { points, holders }, $setOnInsert: { expire } };
    try {
      return await windows.findOneAndUpdate({ key, expire: { $gt: now } }, change, { ...after, upsert: true });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    // The last window is over, but MongoDB has not deleted it yet.
    return windows.findOneAndUpdate({ key, expire: { $lte: now } }, { $set: { points, holders, expire } }, after);
  }

  return {
    async join(key, points, asHolder) {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        const found = await joinOrBegin(key, points, asHolder ? 1 : 0);
        if (found !== null) return windowOf(found);
      }
      throw new Error('The rate limit changed too often while it was counted.');
    },

    async take(key, expiresAt, points) {
      const found = await windows.findOneAndUpdate({ key, expire: new Date(expiresAt) }, { $inc: { points } }, after);
      return found && windowOf(found);
    },
  };
}

function windowOf({ expire, points, holders = 1 }: mongo.WithId<RateLimitDocument>): LimitWindow {
  return { expiresAt: expire?.getTime() ?? 0, points, holders };
}
