import { ServiceError } from '../../kernel/errors.js';
import type { ApiContext } from './context.js';

/** Time limit for a response. A request that cannot be completed in this time gets 503. */
const RESPONSE_TIMEOUT_MS = 1_900;

/**
 * The response deadline of a request, ms since the epoch. Time in the account's queue does not count, nor does the time
 * until the body has arrived that a handler asked for.
 */
export function deadlineOf({ state }: ApiContext, timeoutMs = RESPONSE_TIMEOUT_MS): number {
  const began = Math.max(state.startedAt ?? state.arrivedAt, state.bodyAt ?? 0);
  return began + Math.max(timeoutMs, state.minDeadlineMs);
}

/**
 * Calls a function when the response closes. One listener serves all calls, because Node warns about more than ten.
 * @returns a function that cancels this
 */
function onClose({ res, state }: ApiContext, act: () => void): () => void {
  let acts = state.whenClosed;
  if (acts === undefined) {
    const all = (acts = state.whenClosed = new Set());
    res.once('close', () => {
      for (const each of all) each();
    });
  }
  const all = acts;
  all.add(act);
  return () => void all.delete(act);
}

/**
 * Returns a signal that aborts work whose result is not needed: the deadline has passed, or the response was sent or
 * its client disconnected. `AbortSignal.any` with `AbortSignal.timeout` cannot do this: Node 20 (20.20.2) forgets such a
 * timeout when it collects garbage.
 * @param deadline ms since the epoch
 * @param createLateError creates the signal's reason when the deadline passes
 */
export function abortSignalOf(
  ctx: ApiContext,
  deadline = deadlineOf(ctx),
  createLateError: () => Error = serviceUnavailable,
): AbortSignal {
  const over = new AbortController();
  const timer = setTimeout(
    () => {
      forget();
      over.abort(createLateError());
    },
    Math.max(0, deadline - Date.now()),
  );
  const end = () => {
    clearTimeout(timer);
    over.abort(serviceUnavailable());
  };
  const isOver = ctx.res.closed || ctx.res.destroyed;
  const forget = isOver ? () => undefined : onClose(ctx, end);
  if (isOver) end();
  return over.signal;
}

/**
 * Returns the response deadline of a request with a JSON body, ms since the epoch. The time starts when the body has
 * arrived, so that the service has the same time if the client sends slowly.
 */
export function deadlineAfterBody(ctx: ApiContext, ms: number): number {
  return (ctx.state.bodyAt ?? ctx.state.arrivedAt) + Math.max(ms, ctx.state.minDeadlineMs);
}

export function serviceUnavailable(): ServiceError {
  return new ServiceError('SERVICE_UNAVAILABLE', 'The service is temporarily unavailable. Retry shortly.');
}

/**
 * Waits for work until a deadline. The work continues afterwards, so use this only for operations that are safe to
 * repeat.
 * @param createLateError creates the error if the deadline passes first
 * @throws ServiceError SERVICE_UNAVAILABLE if the deadline passes first
 */
export async function withDeadline<T>(
  deadline: number,
  work: Promise<T>,
  createLateError: () => Error = serviceUnavailable,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(createLateError()), Math.max(0, deadline - Date.now()));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
