import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../../kernel/errors.js';
import type { Mode } from '../../../kernel/ids.js';
import type { ApiContext } from '../context.js';
import type { RouteLoad } from '../contract/route.js';
import { createTurnsByKey } from '../../turns.js';
import { createProcessPlaces } from './process-places.js';

interface Limit {
  /** Concurrent requests per account and mode in this process. */
  atOnce: number;
  /** Maximum time until the client has read the response. */
  withinMs: number;
  /** Maximum requests that wait in the queue. */
  waiting?: number;
  /** Maximum time in which the client reads nothing of the response. */
  idleMs?: number;
  /**
   * A request may start while fewer than this are in progress in the process, of all accounts; lower in test mode, to
   * leave room for live mode. Only one kind of load may have this limit, because its slots are shared.
   */
  inProcess?: Readonly<Record<Mode, number>>;
}

const LIMITS: Readonly<Record<RouteLoad, Limit>> = {
  // One call with its transcript (up to 2 MiB) or one agent: takes milliseconds, and is requested often.
  detail: { atOnce: 5, withinMs: 60_000, waiting: 100 },
  list: { atOnce: 3, withinMs: 60_000 },
  export: { atOnce: 2, withinMs: 120_000 },
  // Four hours of audio are 460 MB; a paused player reads nothing for a while.
  recording: { atOnce: 5, withinMs: 3_600_000, idleMs: 120_000, inProcess: { live: 100, test: 50 } },
};
/** Default queue length per account; the portal requests several lists at once. */
const MOST_WAITING = 20;
const WAIT_MS = 5_000;

/** The account and mode of a request. */
interface Asker {
  account: { _id: string };
  mode: Mode;
}

export type AccountTurns = ReturnType<typeof createAccountTurns>;

/** Limits the concurrent costly requests of an account; a few more wait in a queue. */
export function createAccountTurns({
  waitMs = WAIT_MS,
  limits = LIMITS,
  now = Date.now,
}: { waitMs?: number; limits?: typeof LIMITS; now?: () => number } = {}) {
  const lineOf = ({ atOnce, waiting = MOST_WAITING }: Limit) => createTurnsByKey({ atOnce, mostWaiting: waiting });
  const lines = {
    detail: lineOf(limits.detail),
    list: lineOf(limits.list),
    export: lineOf(limits.export),
    recording: lineOf(limits.recording),
  };
  const places = createProcessPlaces(now);

  async function enter(load: RouteLoad, key: string, closed: AbortSignal): Promise<void> {
    const line = lines[load];
    try {
      if (!line.isFull(key)) await line.enter(key, {});
      else await line.enter(key, { until: AbortSignal.any([closed, AbortSignal.timeout(waitMs)]) });
    } catch {
      throw tooMany();
    }
  }

  return {
    /**
     * Runs the work of a request once the queue admits it. Its slot is freed when the work is done and the response is
     * sent or its socket closed; a response that is read too slowly is cut off. Test and live mode have separate
     * queues.
     * @throws ServiceError RATE_LIMIT_EXCEEDED if too many wait or it waited too long; SERVICE_UNAVAILABLE if the
     *   process has too many in progress; what `work` throws
     */
    async take<T>(ctx: ApiContext, load: RouteLoad, asker: Asker, work: () => Promise<T>): Promise<T> {
      const { res } = ctx;
      const { withinMs, idleMs, inProcess } = limits[load];
      const key = `${asker.account._id} ${asker.mode}`;
      const leave = () => lines[load].leave(key);
      const closed = new AbortController();
      res.once('close', () => closed.abort());
      if (res.closed || res.destroyed) closed.abort();
      await enter(load, key, closed.signal);
      const holder = { accountId: asker.account._id, mode: asker.mode, res };
      const giveBack = inProcess === undefined ? () => undefined : places.take(holder, inProcess[asker.mode]);
      if (giveBack === undefined) {
        leave();
        throw new ServiceError('SERVICE_UNAVAILABLE', 'Too many such requests are in progress. Ask again in a moment.');
      }
      const stopWatching = cutOffSlow(res, withinMs, idleMs);
      const end = () => {
        stopWatching();
        giveBack();
        leave();
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

    /** Number of combinations of kind, account and mode with requests in progress. */
    size: () => Object.values(lines).reduce((sum, line) => sum + line.size(), 0),
  };
}

/** Destroys a response that its client does not read to the end in time. */
function cutOffSlow(res: ServerResponse, withinMs: number, idleMs: number | undefined): () => void {
  const cutOff = setTimeout(() => res.destroy(), withinMs);
  let written = 0;
  // Once the process's send buffer is full, the count grows only if the client reads.
  const look = () => {
    const now = res.socket?.bytesWritten ?? 0;
    if (now === written) res.destroy();
    written = now;
  };
  const idle = idleMs === undefined ? undefined : setInterval(look, idleMs);
  return () => {
    clearTimeout(cutOff);
    clearInterval(idle);
  };
}

function tooMany(): ServiceError {
  return new ServiceError(
    'RATE_LIMIT_EXCEEDED',
    'Too many such requests of this account are in progress. Ask again when they are answered.',
  );
}
