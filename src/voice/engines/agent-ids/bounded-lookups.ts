import { RateLimiterMemory } from 'rate-limiter-flexible';
import { consume } from '../../../platform/http/rate-limits/rate-limit.js';
import type { Lookup } from '../start-checks/finding.js';

/** How long an answer is used again, in ms. A voice that somebody adds to the account is found after a minute. */
const KEPT_MS = { found: 600_000, missing: 60_000, keyRejected: 10_000, unknown: 10_000 } as const;
const MAX_KEPT = 1_000;

/** Questions that wait for an answer at the same time. */
const MAX_WAITING = { account: 2, process: 8 } as const;
/** Questions within a minute. */
const MAX_PER_MINUTE = { account: 20, process: 120 } as const;

/** The requests that this service sends cost its operator's quota at the provider, so customers may cause only a few. */
const TOO_MANY: Lookup = { state: 'unknown', why: 'too many checks at the moment' };

interface Question {
  accountId: string;
  /** Equal for questions with the same answer. */
  key: string;
  ask: () => Promise<Lookup>;
}

/**
 * Asks providers, or answers from memory what was asked before. If an account or the process asks too often, the answer
 * is that it is unknown.
 */
export function createBoundedLookups(now: () => number = Date.now) {
  const kept = new Map<string, { answer: Promise<Lookup>; until: number }>();
  const waiting = new Map<string, number>();
  let allWaiting = 0;
  const perAccount = new RateLimiterMemory({ points: MAX_PER_MINUTE.account, duration: 60 });
  const perProcess = new RateLimiterMemory({ points: MAX_PER_MINUTE.process, duration: 60 });

  async function mayAsk(accountId: string): Promise<boolean> {
    return (await consume(perAccount, accountId)).allowed && (await consume(perProcess, 'all')).allowed;
  }

  /** Asks, unless too many questions wait already. */
  async function askBounded({ accountId, ask }: Question): Promise<Lookup> {
    const own = waiting.get(accountId) ?? 0;
    if (own >= MAX_WAITING.account || allWaiting >= MAX_WAITING.process) return TOO_MANY;
    waiting.set(accountId, own + 1);
    allWaiting += 1;
    try {
      return (await mayAsk(accountId)) ? await ask() : TOO_MANY;
    } finally {
      allWaiting -= 1;
      const left = (waiting.get(accountId) ?? 1) - 1;
      if (left === 0) waiting.delete(accountId);
      else waiting.set(accountId, left);
    }
  }

  return async function find(question: Question): Promise<Lookup> {
    const { key } = question;
    const known = kept.get(key);
    if (known !== undefined && known.until > now()) return known.answer;
    const entry = { answer: askBounded(question), until: Infinity };
    kept.delete(key);
    kept.set(key, entry);
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
    try {
      const answer = await entry.answer;
      entry.until = answer === TOO_MANY ? 0 : now() + KEPT_MS[answer.state];
      return answer;
    } catch (error) {
      entry.until = 0;
      throw error;
    }
  };
}
