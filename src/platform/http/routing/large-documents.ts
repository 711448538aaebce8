import type { Mode } from '../../../kernel/ids.js';
import { createFairQueue } from '../../fair-queue.js';
import type { RawDocument } from '../../mongo/raw-document.js';
import type { ApiContext } from '../context.js';
import { deadlineOf, serviceUnavailable } from '../deadline.js';
import { listDeadlineOf } from '../lists.js';
import { createSteps, type StepOwner } from './export-steps.js';

/** Documents of this size and more are decoded in turn. A transcript of this size has about 600 turns. */
const LARGE_BYTES = 65_536;
/** Documents of unknown size that a process reads at once in each mode, with less than half of its connections. */
const MAX_READS = 4;
/** Requests that wait for their read, for all accounts together. */
const MAX_WAITING_READS = 500;

export type LargeDocuments = ReturnType<typeof createLargeDocuments>;

/**
 * Limits the time and the database connections that large documents, such as long transcripts, take from other requests
 * of the process. A few are read at once, and they are decoded one after the other, the document of the account that
 * used the least time lately first. Small ones, which are nearly all, are decoded at once.
 */
export function createLargeDocuments() {
  const steps = createSteps({ maxRunning: { live: 1, test: 1 } });
  const createReads = () =>
    createFairQueue({
      maxRunning: MAX_READS,
      maxWaiting: MAX_WAITING_READS,
      createFullError: serviceUnavailable,
      share: 'time',
    });
  const reads: Readonly<Record<Mode, ReturnType<typeof createReads>>> = { live: createReads(), test: createReads() };

  return {
    /**
     * Reads a document that may be large. Starts at once unless too many such reads are in progress.
     * @param createSignal creates a signal that ends the wait
     * @throws ServiceError SERVICE_UNAVAILABLE if too many reads wait; the reason of the signal; what `read` throws
     */
    read<T>({ account, mode }: StepOwner, createSignal: () => AbortSignal, read: () => Promise<T>): Promise<T> {
      const queue = reads[mode];
      // Few reads wait, so few need a signal with its timer.
      return queue.run({ groups: [account._id], ...(queue.isFull() ? { signal: createSignal() } : {}) }, read);
    },

    /** The deadline of a read that begins now, ms since the epoch. One that waits for others has the time of a list. */
    readDeadlineOf: (ctx: ApiContext, { mode }: StepOwner): number =>
      reads[mode].isFull() ? listDeadlineOf(ctx) : deadlineOf(ctx),

    /**
     * Decodes a document and converts it.
     * @param createSignal creates a signal that ends the wait of a large document
     * @throws the reason of the signal
     */
    async convert<T, View>(
      owner: StepOwner,
      createSignal: () => AbortSignal,
      document: RawDocument<T>,
      convert: (decoded: T) => View,
    ): Promise<View> {
      const work = () => convert(document.decode());
      return document.bytes < LARGE_BYTES ? work() : steps.run(owner, createSignal(), async () => work());
    },
  };
}
