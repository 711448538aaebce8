import { setTimeout as sleep } from 'node:timers/promises';
import type { TokenLimit } from '../../platform/config/engines/token-limit.js';
import type { RequestOwner } from '../audio/request-queue.js';
import type { UsageMeter } from './engine-usage.js';
import { HealthyProviderError } from './pipeline/ports.js';

/** How long a request waits for tokens. Longer, the caller would hang up. */
const MAX_WAIT_MS = 4_000;
/** From this number of accounts on, those without calls are forgotten. */
const MAX_IDLE_ACCOUNTS = 1_000;
const MINUTE_MS = 60_000;
/** The units of usage that providers count towards their limits of tokens per minute. */
const COUNTED = /^(?:chat|realtime)_\w*_tokens(?:_\d)?$/;
const TOO_MANY =
  'was not asked, because the calls of this account use more tokens per minute than one account may; shorten the ' +
  'instruction, or have fewer calls at once';

/** The tokens of one call, which share those of its account. */
export interface CallTokens {
  /**
   * Waits until the account has tokens left, and takes those of a request.
   * @param prompt estimates the tokens of the request
   * @returns a function that releases these once the usage of the request is counted
   * @throws HealthyProviderError if the wait would be too long; the signal's reason if aborted
   */
  admit(prompt: () => number, signal: AbortSignal): Promise<() => void>;
  /** Adds the counting of tokens to the meter of a call. */
  meter(usage: UsageMeter): UsageMeter;
  /** How long it takes until the account has tokens again, in ms. */
  owedMs: () => number;
  /** Call this when the call has ended. Its usage may still be counted. */
  end(): void;
}

/** The tokens that an account has left: less than 0 while requests wait, and after usage not known in advance. */
interface Bucket {
  left: number;
  atMs: number;
  /** The account's calls in progress. */
  calls: number;
}

interface Clock {
  /** A monotonic clock in ms. */
  now: () => number;
  pause: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

const REAL_CLOCK: Clock = {
  now: () => performance.now(),
  pause: (ms, signal) => sleep(ms, undefined, { signal }),
};

const UNLIMITED: CallTokens = {
  admit: () => Promise.resolve(() => undefined),
  meter: (usage) => usage,
  owedMs: () => 0,
  end: () => undefined,
};

/** An account waits at most this long for its tokens, whatever number a provider reports. */
const MOST_OWED_MS = 5 * MINUTE_MS;

export type AccountTokens = ReturnType<typeof createAccountTokens>;

/**
 * Limits the tokens per minute that each account uses at the providers of language models, in each mode, so that no
 * account can use up the operator's limits, at which the providers would reject the calls of all accounts.
 * @param limit undefined: no limit
 */
export function createAccountTokens(limit: TokenLimit | undefined, { now, pause }: Clock = REAL_CLOCK) {
  const buckets = new Map<string, Bucket>();

  const perMs = ({ perAccount, perCall }: TokenLimit, { calls }: Bucket) =>
    Math.max(perAccount, perCall * calls) / MINUTE_MS;

  /** Refills a bucket, up to the tokens of a minute. @returns its tokens per ms */
  function refill(of: TokenLimit, bucket: Bucket): number {
    const [atMs, rate] = [now(), perMs(of, bucket)];
    bucket.left = Math.min(rate * MINUTE_MS, bucket.left + (atMs - bucket.atMs) * rate);
    bucket.atMs = atMs;
    return rate;
  }

  /** Forgets accounts that have no calls and owe nothing, or if there are none, the oldest one without calls. */
  function forgetIdle(of: TokenLimit): void {
    const idle = [...buckets].filter(([, { calls }]) => calls === 0);
    const full = idle.filter(([, bucket]) => refill(of, bucket) * MINUTE_MS <= bucket.left);
    for (const [key] of full.length > 0 ? full : idle.slice(0, 1)) buckets.delete(key);
  }

  function bucketOf(of: TokenLimit, key: string): Bucket {
    const known = buckets.get(key);
    if (known !== undefined) return known;
    if (buckets.size >= MAX_IDLE_ACCOUNTS) forgetIdle(of);
    const bucket = { left: of.perAccount, atMs: now(), calls: 0 };
    buckets.set(key, bucket);
    return bucket;
  }

  return {
    /** Begins a call. @param owner absent: without limit, for the service itself */
    ofCall(owner: RequestOwner | undefined): CallTokens {
      if (limit === undefined || owner === undefined) return UNLIMITED;
      const bucket = bucketOf(limit, `${owner.mode} ${owner.accountId}`);
      const change = (tokens: number) => {
        const rate = refill(limit, bucket);
        bucket.left = Math.max(bucket.left + tokens, -MOST_OWED_MS * rate);
      };
      const owedMs = () => {
        const rate = refill(limit, bucket);
        return Math.max(0, -bucket.left / rate);
      };
      refill(limit, bucket);
      bucket.calls += 1;
      let isOver = false;

      return {
        async admit(prompt, signal) {
          const waitMs = owedMs();
          if (waitMs > MAX_WAIT_MS) throw new HealthyProviderError('model', TOO_MANY);
          const tokens = prompt();
          bucket.left -= tokens;
          let isTaken = true;
          function release(): void {
            if (isTaken) change(tokens);
            isTaken = false;
          }
          try {
            if (waitMs > 0) await pause(waitMs, signal);
          } catch (error) {
            release();
            throw error;
          }
          return release;
        },
        meter: (usage) => ({
          ...usage,
          add(unit, count = 0) {
            usage.add(unit, count);
            if (count > 0 && COUNTED.test(unit)) change(-count);
          },
        }),
        owedMs,
        end() {
          if (isOver) return;
          isOver = true;
          refill(limit, bucket);
          bucket.calls -= 1;
        },
      };
    },
    /** The number of accounts and modes that are known. */
    size: () => buckets.size,
  };
}
