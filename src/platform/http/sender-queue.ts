import { ServiceError } from '../../kernel/errors.js';
import { createFairQueue } from '../fair-queue.js';
import type { ApiContext } from './context.js';
import { abortSignalOf } from './deadline.js';

/** Maximum waiting requests. Each occupies a socket until its response deadline at most. */
const MAX_WAITING = 1_000;

/**
 * Limits how many requests use the database at once, so that a flood of requests leaves database connections to others.
 * Further requests wait in a queue that serves senders in turn, so a flood delays and rejects only requests of its
 * sender.
 */
export function createSenderQueue({ maxRunning }: { maxRunning: number }) {
  const queue = createFairQueue({ maxRunning, maxWaiting: MAX_WAITING, createFullError: tooManyRequests });

  async function enter(ctx: ApiContext, groups: readonly string[]): Promise<void> {
    if (queue.isFull()) await queue.enter({ groups, signal: abortSignalOf(ctx) });
    else await queue.enter({ groups });
  }

  return {
    /**
     * Runs the work of a request when the queue admits it.
     * @param groups groups of the sender, widest first
     * @throws ServiceError RATE_LIMIT_EXCEEDED if the queue is full of the sender's requests; SERVICE_UNAVAILABLE if
     * the queue does not admit the request before its deadline; what `work` throws
     */
    async run<T>(ctx: ApiContext, groups: readonly string[], work: () => Promise<T>): Promise<T> {
      await enter(ctx, groups);
      let hasSlot = true;
      ctx.state.releaseSlotDuring = async (pause) => {
        // If an earlier pause failed, the request has already lost its slot.
        if (!hasSlot) return pause();
        hasSlot = false;
        queue.leave({ groups });
        const result = await pause();
        await queue.enter({ groups });
        hasSlot = true;
        return result;
      };
      try {
        return await work();
      } finally {
        delete ctx.state.releaseSlotDuring;
        if (hasSlot) queue.leave({ groups });
      }
    },
  };
}

function tooManyRequests(): ServiceError {
  return new ServiceError(
    'RATE_LIMIT_EXCEEDED',
    'Too many of your requests are in progress. Retry when they have completed.',
  );
}
