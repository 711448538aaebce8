import { setImmediate as nextEventLoopPass } from 'node:timers/promises';
import type { Mode } from '../../kernel/ids.js';
import { createFairQueue, createFairQueues } from '../../platform/fair-queue.js';

/** Maximum requests of tools in progress: for the calls of one account in one mode, and for one call. */
const REQUESTS_PER_ACCOUNT = 64;
const REQUESTS_PER_CALL = 8;

/** The call that uses tools. */
export interface ToolUser {
  callId: string;
  accountId: string;
  mode: Mode;
}

export type ToolQueues = ReturnType<typeof createToolQueues>;

/**
 * Creates the queues of a media process in which the tools of its calls wait. One message of a model may
 * call many tools, and without queues the calls of others would wait until all of them are handled.
 */
export function createToolQueues() {
  const calls = createFairQueues({ maxRunning: 1 });
  const costly = createFairQueue({ maxRunning: 1, share: 'time' });
  const requests = createFairQueues({ maxRunning: REQUESTS_PER_ACCOUNT, maxRunningPerGroup: REQUESTS_PER_CALL });
  return {
    /**
     * Begins the tool calls of one phone call: one after the other, and each in another pass of the event loop.
     * @throws the reason of `signal` if it is aborted before the work begins
     */
    begin<T>({ callId }: ToolUser, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      return calls.run(callId, { signal }, async () => {
        await nextEventLoopPass();
        return work();
      });
    },

    /**
     * Computes something that takes milliseconds: in the whole process one in each pass of the event loop. The account
     * that used the least time lately goes first, and test calls take at most half of the time if live ones wait.
     * @throws the reason of `signal` if it is aborted before the work begins
     */
    compute<T>({ mode, accountId, callId }: ToolUser, work: () => T, signal?: AbortSignal): Promise<T> {
      const groups = [mode, accountId, callId];
      return costly.run(signal === undefined ? { groups } : { groups, signal }, async () => {
        try {
          return work();
        } finally {
          await nextEventLoopPass();
        }
      });
    },

    /**
     * Makes a request to a server of the account when few others are in progress.
     * @throws the reason of `signal` if it is aborted before the request begins
     */
    request<T>({ mode, accountId, callId }: ToolUser, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
      return requests.run(`${mode} ${accountId}`, { groups: [callId], signal }, work);
    },
  };
}
