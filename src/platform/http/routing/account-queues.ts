import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../../kernel/errors.js';
import type { Mode } from '../../../kernel/ids.js';
import type { ApiContext } from '../context.js';
import { abortSignalOf } from '../deadline.js';
import type { RouteLoad } from '../contract/route.js';
import { createFairQueues } from '../../fair-queue.js';
import { createProcessSlots } from './process-slots.js';

interface Limit {
  /** Maximum concurrent requests of one sender in this process, per mode. Its account may have one more. */
  maxRunning: number;
  /** Maximum time for the client to read the response. Absent: the slot is freed as soon as the work is done. */
  readTimeoutMs?: number;
  /** Maximum requests that wait in the queue. */
  maxWaiting?: number;
  /** Maximum time in which the client may read nothing of the response. */
  idleTimeoutMs?: number;
  /**
   * A request may start only while fewer than this are in progress in the process, for all accounts together. Test mode
   * has a lower number, so that slots remain for live mode. Only one kind of load may have this limit, because its
   * slots are shared.
   */
  maxInProcess?: Readonly<Record<Mode, number>>;
}

const LIMITS: Readonly<Record<RouteLoad, Limit>> = {
  // Each `read` request needs a few short database reads. A stream of events needs its slot only until it begins.
  read: { maxRunning: 8, maxWaiting: 100 },
  // Some changes wait for a workflow, such as the cancellation of a call. An account may have 24 of these at once, so
  // other changes can still run.
  change: { maxRunning: 28, maxWaiting: 200 },
  // Requests for one call with its transcript (up to 2 MiB) or for one agent take milliseconds and are frequent.
  detail: { maxRunning: 5, readTimeoutMs: 60_000, maxWaiting: 100 },
  list: { maxRunning: 3, readTimeoutMs: 60_000 },
  export: { maxRunning: 2, readTimeoutMs: 120_000 },
  // Four hours of audio are 460 MB. A paused player reads nothing for a while.
  recording: { maxRunning: 5, readTimeoutMs: 3_600_000, idleTimeoutMs: 120_000, maxInProcess: { live: 100, test: 50 } },
};
/** Default queue length per account. The portal requests several lists at once. */
const MAX_WAITING = 20;
const WAIT_TIMEOUT_MS = 5_000;

/** The account and mode of a request, and the key or member that sends it. */
interface Requester {
  account: { _id: string };
  mode: Mode;
  sender: string;
}

export type AccountQueues = ReturnType<typeof createAccountQueues>;

/**
 * Limits how many costly requests of an account run at once. A few more wait in a queue. One sender cannot take all slots
 * of its account, so a stolen key does not keep others from listing and revoking it.
 */
export function createAccountQueues({
  waitTimeoutMs = WAIT_TIMEOUT_MS,
  limits = LIMITS,
  now = Date.now,
}: { waitTimeoutMs?: number; limits?: typeof LIMITS; now?: () => number } = {}) {
  const queuesFor = ({ maxRunning, maxWaiting = MAX_WAITING }: Limit) =>
    createFairQueues({ maxRunning: maxRunning + 1, maxRunningPerGroup: maxRunning, maxWaiting });
  const queues = {
    read: queuesFor(limits.read),
    change: queuesFor(limits.change),
    detail: queuesFor(limits.detail),
    list: queuesFor(limits.list),
    export: queuesFor(limits.export),
    recording: queuesFor(limits.recording),
  };
  const processSlots = createProcessSlots(now);

  async function enter(ctx: ApiContext, load: RouteLoad, key: string, groups: readonly string[]): Promise<void> {
    const queue = queues[load];
    try {
      if (queue.isFree(key, { groups })) await queue.enter(key, { groups });
      else await queue.enter(key, { groups, signal: abortSignalOf(ctx, Date.now() + waitTimeoutMs) });
    } catch {
      throw tooManyRequests();
    }
  }

  return {
    /**
     * Runs the work of a request when the queue admits it. The slot is freed when the work is done and the response was
     * sent or its socket closed. A response that is read too slowly is cut off. Test and live mode have separate
     * queues.
     * @throws ServiceError RATE_LIMIT_EXCEEDED if too many requests wait or this one waited too long;
     * SERVICE_UNAVAILABLE if the process has too many in progress; what `work` throws
     */
    async run<T>(ctx: ApiContext, load: RouteLoad, requester: Requester, work: () => Promise<T>): Promise<T> {
      const { res } = ctx;
      const { readTimeoutMs, idleTimeoutMs, maxInProcess } = limits[load];
      const key = `${requester.account._id} ${requester.mode}`;
      const groups = [requester.sender];
      const leave = () => queues[load].leave(key, { groups });
      await enter(ctx, load, key, groups);
      const holder = { accountId: requester.account._id, mode: requester.mode, res };
      const releaseSlot =
        maxInProcess === undefined ? () => undefined : processSlots.acquire(holder, maxInProcess[requester.mode]);
      if (releaseSlot === undefined) {
        leave();
        throw new ServiceError(
          'SERVICE_UNAVAILABLE',
          'Too many requests of this kind are in progress. Retry in a moment.',
        );
      }
      const stopWatching =
        readTimeoutMs === undefined ? () => undefined : destroyIfSlow(res, readTimeoutMs, idleTimeoutMs);
      const end = () => {
        stopWatching();
        releaseSlot();
        leave();
      };
      ctx.state.startedAt = Date.now();
      try {
        return await work();
      } finally {
        if (res.closed || res.destroyed || readTimeoutMs === undefined) end();
        else res.once('close', end);
      }
    },

    /** Number of combinations of kind, account and mode with requests in progress. */
    size: () => Object.values(queues).reduce((sum, queue) => sum + queue.size(), 0),
  };
}

/** Destroys a response that its client does not read to the end in time. */
function destroyIfSlow(res: ServerResponse, readTimeoutMs: number, idleTimeoutMs: number | undefined): () => void {
  const timer = setTimeout(() => res.destroy(), readTimeoutMs);
  let written = 0;
  // When the process's send buffer is full, the byte count grows only if the client reads.
  const check = () => {
    const now = res.socket?.bytesWritten ?? 0;
    if (now === written) res.destroy();
    written = now;
  };
  const idle = idleTimeoutMs === undefined ? undefined : setInterval(check, idleTimeoutMs);
  return () => {
    clearTimeout(timer);
    clearInterval(idle);
  };
}

function tooManyRequests(): ServiceError {
  return new ServiceError(
    'RATE_LIMIT_EXCEEDED',
    'Too many requests of this kind are in progress for this account. Retry when they have completed.',
  );
}
