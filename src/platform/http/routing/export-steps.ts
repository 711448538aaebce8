import { setImmediate as nextEventLoopPass } from 'node:timers/promises';
import type { Mode } from '../../../kernel/ids.js';
import { createFairQueue } from '../../fair-queue.js';
import { serviceUnavailable } from '../deadline.js';

/** Steps of exports that run at the same time in the process, for all accounts together. */
const MAX_RUNNING: Readonly<Record<Mode, number>> = { live: 2, test: 1 };
/** Exports that wait for their next step. An account has two exports at once in each mode. */
const MAX_WAITING = 500;

/** The account and mode of an export. */
interface Exporter {
  account: { _id: string };
  mode: Mode;
}

/** Runs one step of an export when the process admits it. */
export type RunStep = <T>(step: () => Promise<T>) => Promise<T>;

/**
 * Limits the time that exports and usage reports take from other requests of the process. An export runs in short
 * steps. A few steps run at once, accounts share them fairly, and after each step the event loop serves other requests.
 * An export that waits for a slow client has no step, so slow clients delay no other export.
 */
export function createExportSteps() {
  const createQueue = (mode: Mode) =>
    createFairQueue({
      maxRunning: MAX_RUNNING[mode],
      maxWaiting: MAX_WAITING,
      createFullError: serviceUnavailable,
    });
  const queues: Readonly<Record<Mode, ReturnType<typeof createQueue>>> = {
    live: createQueue('live'),
    test: createQueue('test'),
  };

  return {
    /**
     * Runs a step when it is the account's turn.
     * @throws ServiceError SERVICE_UNAVAILABLE if too many exports wait; the reason of `signal`; what `step` throws
     */
    run<T>({ account, mode }: Exporter, signal: AbortSignal, step: () => Promise<T>): Promise<T> {
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
