import { createHmac, randomBytes } from 'node:crypto';
import { RateLimiterMemory, RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config } from '../config/config.js';
import { ServiceError } from '../../kernel/errors.js';
import type { PlatformDatabase } from '../mongo/platform-database.js';
import type { ApiContext } from './context.js';
import { clientAddress } from './security.js';

const WINDOW_SECONDS = 60;

/**
 * Requests without a valid key, session or signature that one address may send a minute. Guessing is hopeless anyway;
 * this only keeps a broken client from taking our time.
 */
const FAILURES_PER_MINUTE = 3_000;

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/** So many points in so many seconds, counted in the database for all processes, in memory while it is away. */
export function createLimiter(
  database: PlatformDatabase,
  counting: { points: number; duration: number },
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

/** Requests per minute of each API key, counted in the database for all processes, in memory while it is away. */
export function createRateLimiter(database: PlatformDatabase) {
  const byLimit = new Map<number, RateLimiterMongo>();

  function limiterOf(requestsPerMinute: number): RateLimiterMongo {
    const known = byLimit.get(requestsPerMinute);
    if (known) return known;
    const limiter = createLimiter(database, { points: requestsPerMinute, duration: WINDOW_SECONDS });
    byLimit.set(requestsPerMinute, limiter);
    return limiter;
  }

  return {
    /**
     * Counts a request of a key and tells the client how it stands.
     * @param options.told false for a limit beside the key's own, of which the headers do not speak
     * @throws ServiceError RATE_LIMIT_EXCEEDED
     */
    async count(
      ctx: ApiContext,
      keyId: string,
      requestsPerMinute: number,
      { told = true }: { told?: boolean } = {},
    ): Promise<void> {
      const { allowed, state } = await consume(limiterOf(requestsPerMinute), keyId);
      const resetSeconds = Math.ceil(state.msBeforeNext / 1_000);
      if (told) {
        ctx.set('RateLimit-Policy', `"default";q=${requestsPerMinute};w=${WINDOW_SECONDS}`);
        ctx.set('RateLimit', `"default";r=${state.remainingPoints};t=${resetSeconds}`);
      }
      if (!allowed) throw limitExceeded(ctx, resetSeconds);
    },
  };
}

export type FailureLimiter = ReturnType<typeof createFailureLimiter>;

/** Counters of failures in a process, whatever the number of addresses. */
const BUCKETS = 65_536;

/**
 * Failed authentications and signatures per client address, in memory: one process's view is enough to slow a guesser.
 * Addresses share a bounded number of counters, by a hash that nobody outside can compute.
 */
export function createFailureLimiter(config: Config) {
  const limiter = new RateLimiterMemory({ points: FAILURES_PER_MINUTE, duration: WINDOW_SECONDS });
  const salt = randomBytes(16);
  const bucketOf = (ctx: ApiContext) =>
    createHmac('sha256', salt).update(clientAddress(ctx, config)).digest().readUInt32BE() % BUCKETS;
  return {
    /** Whether the address has failed so often that the next failure is 429. */
    async isOver(ctx: ApiContext): Promise<boolean> {
      const state = await limiter.get(String(bucketOf(ctx)));
      return state !== null && state.consumedPoints >= FAILURES_PER_MINUTE;
    },
    /**
     * Counts a failure.
     * @throws ServiceError RATE_LIMIT_EXCEEDED when there were too many before it
     */
    async count(ctx: ApiContext): Promise<void> {
      const { allowed, state } = await consume(limiter, String(bucketOf(ctx)));
      if (!allowed) throw limitExceeded(ctx, Math.ceil(state.msBeforeNext / 1_000));
    },
  };
}

/** The limiter rejects with its state when the limit is exceeded, and with an error when it cannot count. */
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

export function limitExceeded(ctx: ApiContext, seconds: number): ServiceError {
  ctx.set('Retry-After', String(Math.max(1, seconds)));
  return new ServiceError('RATE_LIMIT_EXCEEDED', 'Too many requests. Please wait before asking again.');
}
