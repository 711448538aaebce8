import { ServiceError } from '../../kernel/errors.js';
import type { ApiContext } from './context.js';

/** A request is answered this soon after its arrival, if need be with 503. */
const ANSWER_WITHIN_MS = 1_900;

/** When the answer to a request is due, ms since the epoch. Waiting for its turn does not count. */
export function deadlineOf(ctx: ApiContext, withinMs = ANSWER_WITHIN_MS): number {
  return (ctx.state.startedAt ?? ctx.state.arrivedAt) + Math.max(withinMs, ctx.state.leastTimeMs);
}

/** Ends work that nobody waits for: the answer is due, or the client has gone. */
export function endOf(ctx: ApiContext, deadline = deadlineOf(ctx)): AbortSignal {
  const due = AbortSignal.timeout(Math.max(0, deadline - Date.now()));
  return ctx.state.closed ? AbortSignal.any([due, ctx.state.closed]) : due;
}

/**
 * When the answer to a request with a JSON body is due, ms since the epoch. The time starts at the end of the body: a sender
 * who holds it back leaves the service no less time.
 */
export function deadlineAfterBody(ctx: ApiContext, ms: number): number {
  return (ctx.state.bodyAt ?? ctx.state.arrivedAt) + Math.max(ms, ctx.state.leastTimeMs);
}

export function unavailable(): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', 'The service cannot answer right now. Please ask again shortly.');
}

/**
 * The result of work that must be there by a deadline. The work itself is not stopped, so only reads and writes that may
 * be repeated are waited for in this way.
 * @throws ServiceError SERVICE_UNAVAILABLE when the deadline passes first
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
