import { createHmac, randomBytes } from 'node:crypto';
import { RateLimiterMemory, RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config } from '../../config/config.js';
import { ServiceError } from '../../../kernel/errors.js';
import type { PlatformDatabase } from '../../mongo/platform-database.js';
import type { ApiContext } from '../context.js';
import { clientAddress } from '../security.js';
import { createLeasedLimiter, type LimitOutcome } from './leased-limiter.js';
import { createLimitStore } from './limit-store.js';

const WINDOW_SECONDS = 60;

/**
 * Requests per minute that one address may send without a valid key, session or signature. Guessing a key is hopeless
 * anyway; the limit only keeps a broken client from using up our capacity.
 */
const FAILURES_PER_MINUTE = 3_000;

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/**
 * Limits the points consumed per duration (seconds). Counts in the database for all processes, or in memory while the
 * database is unavailable.
 */
export function createLimiter(
  database: PlatformDatabase,
  counting: { points: number; duration: number; inMemoryBlockOnConsumed?: number },
): RateLimiterMongo {
  return new RateLimiterMongo({
    ...counting,
    storeClient: database.connection.getClient(),
    dbName: database.connection.name,
    tableName: database.rateLimits.collection.name,
    keyPrefix: '',
    disableIndexesCreation: true,
    insuranceLimiter: new RateLimiterMemory(counting),
  });
}

/**
 * Creates limiters on demand, one for each limit. When a key is above its limit, the process rejects it from memory
 * until the window ends, without further writes.
 * @param duration the window in seconds
 */
export function createLimiterPerLimit(database: PlatformDatabase, duration: number) {
  const byLimit = new Map<number, RateLimiterMongo>();
  return (points: number): RateLimiterMongo => {
    const known = byLimit.get(points);
    if (known) return known;
    const limiter = createLimiter(database, { points, duration, inMemoryBlockOnConsumed: points + 1 });
    byLimit.set(points, limiter);
    return limiter;
  };
}

/** A request to count: its sender and its limit. */
interface Counted {
  key: string;
  requestsPerMinute: number;
  /** Whether the response has the RateLimit headers of this limit. */
  hasHeaders?: boolean;
}

/**
 * Limits requests per minute of each API key or session. Processes lease requests from the database in blocks. While the
 * database is unavailable, each process counts in memory.
 */
export function createRateLimiter(database: PlatformDatabase) {
  const ofLimit = new Map<number, RateLimiterMemory>();
  const limiter = createLeasedLimiter({
    store: createLimitStore(database, WINDOW_SECONDS),
    async fallback(key, points) {
      const inMemory = ofLimit.get(points) ?? new RateLimiterMemory({ points, duration: WINDOW_SECONDS });
      ofLimit.set(points, inMemory);
      const { allowed, state } = await consume(inMemory, key);
      return { allowed, remaining: state.remainingPoints, msBeforeNext: state.msBeforeNext };
    },
  });

  function apply(ctx: ApiContext, { requestsPerMinute, hasHeaders }: Counted, outcome: LimitOutcome): void {
    const { allowed, remaining, msBeforeNext } = outcome;
    const resetSeconds = Math.ceil(msBeforeNext / 1_000);
    if (hasHeaders) {
      ctx.set('RateLimit-Policy', `"default";q=${requestsPerMinute};w=${WINDOW_SECONDS}`);
      ctx.set('RateLimit', `"default";r=${remaining};t=${resetSeconds}`);
    }
    if (!allowed) throw limitExceeded(ctx, resetSeconds);
  }

  return {
    /**
     * Counts a request against several limits, the sender's own one first, and sets the RateLimit headers. A request that
     * one limit rejects does not count towards the next ones, so that a sender above its own limit takes nothing from others.
     * @returns undefined if the process could count it in memory; otherwise a promise to wait for
     * @throws ServiceError RATE_LIMIT_EXCEEDED
     */
    count(ctx: ApiContext, counted: readonly Counted[]): Promise<void> | undefined {
      for (const [index, each] of counted.entries()) {
        const outcome = limiter.consume(each.key, each.requestsPerMinute);
        if (outcome instanceof Promise) {
          return outcome.then((settled) => {
            apply(ctx, each, settled);
            return this.count(ctx, counted.slice(index + 1));
          });
        }
        apply(ctx, each, outcome);
      }
      return undefined;
    },
  };
}

export type FailureLimiter = ReturnType<typeof createFailureLimiter>;

/** Number of failure counters in a process. All addresses share them. */
const BUCKETS = 65_536;

/**
 * Counts failed authentications and signatures per client address. Counters are in memory, because the failures seen by
 * one process are enough to slow down guessing. A secret hash, which outsiders cannot compute, maps each address to one
 * of the counters.
 */
export function createFailureLimiter(config: Config) {
  const limiter = new RateLimiterMemory({ points: FAILURES_PER_MINUTE, duration: WINDOW_SECONDS });
  const salt = randomBytes(16);
  const bucketOf = (ctx: ApiContext) =>
    createHmac('sha256', salt).update(clientAddress(ctx, config)).digest().readUInt32BE() % BUCKETS;
  return {
    /** Whether the next failure of the address is rejected with 429. */
    async isOver(ctx: ApiContext): Promise<boolean> {
      const state = await limiter.get(String(bucketOf(ctx)));
      return state !== null && state.consumedPoints >= FAILURES_PER_MINUTE;
    },
    /**
     * Counts a failure.
     * @throws ServiceError RATE_LIMIT_EXCEEDED if there were too many before
     */
    async count(ctx: ApiContext): Promise<void> {
      const { allowed, state } = await consume(limiter, String(bucketOf(ctx)));
      if (!allowed) throw limitExceeded(ctx, Math.ceil(state.msBeforeNext / 1_000));
    },
  };
}

/** Counts one point. @returns whether the limit allows it, and the limiter's state. Rejects if counting fails. */
export async function consume(
  limiter: RateLimiterMemory | RateLimiterMongo,
  key: string,
): Promise<{ allowed: boolean; state: RateLimiterRes }> {
  try {
    return { allowed: true, state: await limiter.consume(key) };
  } catch (rejection) {
    if (rejection instanceof RateLimiterRes) return { allowed: false, state: rejection };
    throw rejection;
  }
}

/**
 * Counts one point.
 * @returns the points in the current window, including this one
 * @throws ServiceError RATE_LIMIT_EXCEEDED
 */
export async function countAgainst(ctx: ApiContext, limiter: RateLimiterMongo, key: string): Promise<number> {
  const { allowed, state } = await consume(limiter, key);
  if (!allowed) throw limitExceeded(ctx, Math.ceil(state.msBeforeNext / 1_000));
  return state.consumedPoints;
}

/** Sets Retry-After and returns the error to throw. @param seconds values below 1 are sent as 1 */
export function limitExceeded(ctx: ApiContext, seconds: number): ServiceError {
  ctx.set('Retry-After', String(Math.max(1, seconds)));
  return new ServiceError(
    'RATE_LIMIT_EXCEEDED',
    'Too many requests. Wait the number of seconds in Retry-After, then retry.',
  );
}
