import { once } from 'node:events';
import { ServiceError } from '../../../kernel/errors.js';
import type { ApiContext } from '../context.js';
import type { RouteLoad } from '../contract/route.js';

/** Requests of an account that are answered at once in this process, and how long one may take until it is read. */
const LIMITS: Readonly<Record<RouteLoad, { atOnce: number; withinMs: number }>> = {
  list: { atOnce: 3, withinMs: 60_000 },
  export: { atOnce: 2, withinMs: 120_000 },
};
/** Of an account; the portal asks for several lists at once. */
const MOST_WAITING = 20;
const WAIT_MS = 5_000;

interface Line {
  active: number;
  waiting: Set<() => void>;
}

export type AccountTurns = ReturnType<typeof createAccountTurns>;

/** Bounds the costly requests that an account has in progress; a few more wait for their turn. */
export function createAccountTurns({
  waitMs = WAIT_MS,
  limits = LIMITS,
}: { waitMs?: number; limits?: typeof LIMITS } = {}) {
  const lines = new Map<string, Line>();

  async function enter(key: string, atOnce: number, closed: AbortSignal): Promise<void> {
    const line = lines.get(key) ?? { active: 0, waiting: new Set() };
    lines.set(key, line);
    if (line.active < atOnce) {
      line.active += 1;
      return;
    }
    if (line.waiting.size >= MOST_WAITING) throw tooMany();
    const isTurn = new AbortController();
    const turn = () => isTurn.abort();
    line.waiting.add(turn);
    const over = AbortSignal.any([closed, AbortSignal.timeout(waitMs), isTurn.signal]);
    if (!over.aborted) await once(over, 'abort');
    line.waiting.delete(turn);
    if (!isTurn.signal.aborted) throw tooMany();
  }

  /** The turn goes to whoever waits longest. */
  function leave(key: string): void {
    const line = lines.get(key);
    const [next] = line?.waiting ?? [];
    if (line === undefined) return;
    if (next !== undefined) {
      line.waiting.delete(next);
      next();
      return;
    }
    line.active -= 1;
    if (line.active === 0) lines.delete(key);
  }

  return {
    /**
     * Does the work of a request once it is its turn. The turn lasts until the work is done and the response was sent or
     * its socket closed; a response that is read too slowly is cut off.
     * @throws ServiceError RATE_LIMIT_EXCEEDED when too many wait, or it waited too long; what `work` throws
     */
    async take<T>(ctx: ApiContext, load: RouteLoad, accountId: string, work: () => Promise<T>): Promise<T> {
      const { res } = ctx;
      const { atOnce, withinMs } = limits[load];
      const key = `${load} ${accountId}`;
      const closed = new AbortController();
      res.once('close', () => closed.abort());
      if (res.closed || res.destroyed) closed.abort();
      await enter(key, atOnce, closed.signal);
      const cutOff = setTimeout(() => res.destroy(), withinMs);
      const end = () => {
        clearTimeout(cutOff);
        leave(key);
      };
      ctx.state.startedAt = Date.now();
      ctx.state.closed = closed.signal;
      try {
        return await work();
      } finally {
        if (closed.signal.aborted) end();
        else closed.signal.addEventListener('abort', end, { once: true });
      }
    },

    /** Accounts and kinds of requests that are in progress. */
    size: () => lines.size,
  };
}

function tooMany(): ServiceError {
  return new ServiceError(
    'RATE_LIMIT_EXCEEDED',
    'Too many lists or exports of this account are in progress. Ask again when they are answered.',
  );
}
