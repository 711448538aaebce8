import { ServiceError } from '../../kernel/errors.js';
import type { ApiContext } from './context.js';

/** Time to respond to a request, with 503 if need be. */
const ANSWER_WITHIN_MS = 1_900;

/** The response deadline of a request, ms since the epoch. Time in the account's queue does not count. */
export function deadlineOf(ctx: ApiContext, withinMs = ANSWER_WITHIN_MS): number {
  return (ctx.state.startedAt ?? ctx.state.arrivedAt) + Math.max(withinMs, ctx.state.leastTimeMs);
}

/** A signal that aborts work whose result is no longer needed: the deadline passed, or the client has disconnected. */
export function endOf(ctx: ApiContext, deadline = deadlineOf(ctx)): AbortSignal {
  const due = AbortSignal.timeout(Math.max(0, deadline - Date.now()));
  return ctx.state.closed ? AbortSignal.any([due, ctx.state.closed]) : due;
}

/**
 * The response deadline of a request with a JSON body, ms since the epoch. The time starts when the body has arrived,
 * so that a slow sender leaves the service no less time.
 */
export function deadlineAfterBody(ctx: ApiContext, ms: number): number {
  return (ctx.state.bodyAt ?? ctx.state.arrivedAt) + Math.max(ms, ctx.state.leastTimeMs);
}

export function unavailable(): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', 'The service cannot answer right now. Please ask again shortly.');
}

/**
 * Waits for work until a deadline. The work itself is not stopped, so use this only for operations that are safe to
 * repeat.
 * @throws ServiceError SERVICE_UNAVAILABLE if the deadline passes first
 */
export async function within<T>(deadline: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(unavailable()), Math.max(0, deadline - Date.now()));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
