import type { ApiContext } from '../context.js';
import { abortSignalOf, deadlineOf, serviceUnavailable } from '../deadline.js';
import type { RunStep } from './export-steps.js';

/** Time in which work that its limit ended responds with the reason. Work that waits for the database does not. */
const END_MS = 500;

interface Limits {
  /** Maximum time of all steps together. Time in which the request waits for the steps of others does not count. */
  workMs: number;
  /** Maximum time of the request, with its waits. */
  totalMs: number;
  /** Creates the error if the steps take too long. */
  createLateError?: () => Error;
}

/** Limits the time that the steps of a request take. A request has one step at a time. */
export function createStepLimit(ctx: ApiContext, p: Limits) {
  const { createLateError = serviceUnavailable } = p;
  const over = new AbortController();
  const request = abortSignalOf(ctx, deadlineOf(ctx, p.totalMs));
  request.addEventListener('abort', () => over.abort(request.reason));
  if (request.aborted) over.abort(request.reason);
  let left = deadlineOf(ctx, p.workMs) - Date.now();
  let timer: NodeJS.Timeout | undefined;

  /** Starts the time of a step. */
  function start(): void {
    clearTimeout(timer);
    timer = setTimeout(() => over.abort(createLateError()), Math.max(0, left));
  }

  async function timed<T>(step: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    start();
    try {
      return await step();
    } finally {
      clearTimeout(timer);
      timer = undefined;
      left -= performance.now() - startedAt;
    }
  }

  return {
    /** Aborts when the limit is reached, or the response was sent or its client disconnected. */
    signal: over.signal,

    /** Runs a step of the request when it is the account's turn. */
    runStep: ((step) => {
      const { runStep } = ctx.state;
      return runStep === undefined ? timed(step) : runStep(over.signal, () => timed(step));
    }) satisfies RunStep as RunStep,

    /** Gives the request this time for its steps from now on. */
    allow(ms: number): void {
      left = ms;
      if (timer !== undefined) start();
    },

    /** Waits for work that ends with `signal`. If it does not end soon, rejects without it. */
    async until<T>(work: Promise<T>): Promise<T> {
      let timer: NodeJS.Timeout | undefined;
      let giveUp = () => {};
      const late = new Promise<never>((_resolve, reject) => {
        giveUp = () => (timer = setTimeout(() => reject(serviceUnavailable()), END_MS));
      });
      over.signal.addEventListener('abort', giveUp);
      if (over.signal.aborted) giveUp();
      try {
        return await Promise.race([work, late]);
      } finally {
        over.signal.removeEventListener('abort', giveUp);
        clearTimeout(timer);
      }
    },
  };
}
