import { setImmediate as nextEventLoopPass } from 'node:timers/promises';
import type { Mode } from '../../../kernel/ids.js';
import { createFairQueue } from '../../fair-queue.js';
import { serviceUnavailable } from '../deadline.js';

/** Steps of exports that run at the same time in the process, for all accounts together. */
const MAX_RUNNING: Readonly<Record<Mode, number>> = { live: 2, test: 1 };
/** Requests that wait for their next step. An account has two exports at once in each mode. */
const MAX_WAITING = 500;

/** The account and mode of a request. */
export interface StepOwner {
  account: { _id: string };
  mode: Mode;
}

/** Runs one step of an export when the process admits it. */
export type RunStep = <T>(step: () => Promise<T>) => Promise<T>;

export type Steps = ReturnType<typeof createSteps>;

/**
 * Limits the time that costly requests take from other requests of the process. Such a request runs in short steps. A
 * few steps run at once, the account that used the least time lately goes first, and after each step the event loop
 * serves other requests.
 * @param p.maxRunning steps that run at the same time in the process, for all accounts together
 * @param p.now the clock that measures steps
 */
export function createSteps(p: { maxRunning: Readonly<Record<Mode, number>>; now?: () => number }) {
  const { maxRunning, ...clock } = p;
  const createQueue = (mode: Mode) =>
    createFairQueue({
      maxRunning: maxRunning[mode],
      maxWaiting: MAX_WAITING,
      createFullError: serviceUnavailable,
      share: 'time',
      ...clock,
    });
  const queues: Readonly<Record<Mode, ReturnType<typeof createQueue>>> = {
    live: createQueue('live'),
    test: createQueue('test'),
  };

  return {
    /**
     * Runs a step when it is the account's turn.
     * @throws ServiceError SERVICE_UNAVAILABLE if too many requests wait; the reason of `signal`; what `step` throws
     */
    run<T>({ account, mode }: StepOwner, signal: AbortSignal, step: () => Promise<T>): Promise<T> {
      return queues[mode].run({ groups: [account._id], signal }, async () => {
        try {
          return await step();
        } finally {
          // The next step may need no I/O, so without this the steps would run in a row.
          await nextEventLoopPass();
        }
      });
    },
  };
}

/**
 * Creates the steps of exports and usage reports. An export that waits for a slow client has no step, so slow clients
 * delay no other export.
 */
export function createExportSteps(clock: { now?: () => number } = {}): Steps {
  return createSteps({ maxRunning: MAX_RUNNING, ...clock });
}

/** Iterates over items. Each item is made in a separate step. */
export async function* inSteps<T>(
  items: AsyncIterable<T>,
  runStep: RunStep = (step) => step(),
): AsyncGenerator<T, void, undefined> {
  const iterator = items[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await runStep(() => iterator.next());
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await iterator.return?.();
  }
}
