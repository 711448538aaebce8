import { join } from 'node:path';
import { parentPort, Worker } from 'node:worker_threads';
import { createRequestQueue, PROCESS_OWNER, type RequestOwner } from './request-queue.js';

/** The request was dropped without being processed, because the thread was too busy. */
export class ThreadBusyError extends Error {}

/** A worker thread for work that takes a core for 50 ms at a time and would delay the calls of the main thread. */
export interface WorkerThread<Request, Result> {
  /**
   * Queues a request. The thread processes one at a time. Live-mode calls come before test-mode calls; accounts and
   * their calls are served in rotation.
   * @throws ThreadBusyError if the request waits too long or the queue is full; Error if the work fails or takes too
   *   long, the thread ends, or the thread is closed
   */
  run(request: Request, owner?: RequestOwner): Promise<Result>;
  close(): Promise<void>;
}

export interface WorkerThreadLimits {
  /** Timeout for processing a request, in ms. Only that request is rejected. */
  timeoutMs: number;
  /**
   * Maximum wait in the queue in ms, default 20 s. Must exceed `timeoutMs`, so that a slow request rejects no other.
   */
  queueTimeoutMs?: number;
  /**
   * Maximum number of waiting requests, default 500. If there are more, one request of the account with the most
   * requests is dropped.
   */
  maxQueued?: number;
}

interface WorkerRequest<Request> {
  id: number;
  request: Request;
}

type WorkerResponse<Result> = { id: number; result: Result } | { id: number; error: string };

interface QueuedRequest<Request, Result> {
  id: number;
  owner: RequestOwner;
  request: Request;
  resolve(result: Result): void;
  reject(error: Error): void;
  timer?: NodeJS.Timeout;
}

/** Extra time for the first request of a thread, which loads the models. */
const START_WITHIN_MS = 20_000;
const WAIT_MS = 20_000;
const MAX_WAITING = 500;

/**
 * A worker thread that starts with the first request, and again after a crash or a timeout. An idle thread does not
 * keep the process alive.
 * @param options.module the file next to this one, without its extension, that calls `serveRequests`
 * @param options.name used in error messages
 */
export function createWorkerThread<Request, Result>(
  options: { module: string; name: string } & WorkerThreadLimits,
): WorkerThread<Request, Result> {
  const { module, name, timeoutMs, queueTimeoutMs = WAIT_MS, maxQueued = MAX_WAITING } = options;
  const queue = createRequestQueue<QueuedRequest<Request, Result>>();
  let working: QueuedRequest<Request, Result> | undefined;
  let worker: Worker | undefined;
  let closed = false;
  let lastId = 0;

  function reject(waiting: QueuedRequest<Request, Result> | undefined, reason: string | Error): void {
    clearTimeout(waiting?.timer);
    waiting?.reject(typeof reason === 'string' ? new Error(reason) : reason);
  }

  /** Terminates the worker, rejects the request in progress, and continues with the next one in a new worker. */
  async function replace(reason: string): Promise<void> {
    const ended = worker;
    worker = undefined;
    const lost = working;
    working = undefined;
    reject(lost, reason);
    processNext();
    await ended?.terminate();
  }

  function getWorker(): Worker {
    if (worker !== undefined) return worker;
    const started = startWorker(module);
    started.on('message', (answer: WorkerResponse<Result>) => {
      if (started === worker) answered(answer);
    });
    const ended = (reason: string) => {
      if (started === worker) void replace(reason);
    };
    started.on('error', (error: Error) => ended(error.message));
    started.on('exit', () => ended(`the thread of the ${name} exited`));
    worker = started;
    return started;
  }

  function answered(answer: WorkerResponse<Result>): void {
    const done = working;
    if (done === undefined || done.id !== answer.id) return;
    working = undefined;
    if ('error' in answer) reject(done, answer.error);
    else {
      clearTimeout(done.timer);
      done.resolve(answer.result);
    }
    processNext();
  }

  function processNext(): void {
    if (working !== undefined || closed) return;
    working = queue.next();
    if (working === undefined) {
      worker?.unref();
      return;
    }
    const { id, request, timer } = working;
    clearTimeout(timer);
    const startMs = worker === undefined ? START_WITHIN_MS : 0;
    working.timer = setTimeout(() => void replace(`the ${name} took too long`), startMs + timeoutMs);
    const target = getWorker();
    target.ref();
    target.postMessage({ id, request } satisfies WorkerRequest<Request>);
  }

  return {
    run(request, owner = PROCESS_OWNER) {
      if (closed) return Promise.reject(new Error(`the ${name} is closed`));
      return new Promise((resolve, rejectPromise) => {
        const waiting: QueuedRequest<Request, Result> = {
          id: ++lastId,
          owner,
          request,
          resolve,
          reject: rejectPromise,
        };
        waiting.timer = setTimeout(() => {
          if (queue.remove(waiting))
            reject(
              waiting,
              new ThreadBusyError(`the ${name} was busy for too long, and the request timed out in its queue`),
            );
        }, queueTimeoutMs);
        queue.add(waiting);
        processNext();
        if (queue.size() > maxQueued) reject(queue.evictOne(), new ThreadBusyError(`the queue of the ${name} is full`));
      });
    },
    async close() {
      closed = true;
      for (let left = queue.next(); left !== undefined; left = queue.next()) reject(left, `the ${name} is closed`);
      await replace(`the ${name} is closed`);
    },
  };
}

/** The worker's side: answers requests one at a time, in order. */
export function serveRequests<Request, Result>(answer: (request: Request) => Promise<Result>): void {
  let queue: Promise<void> = Promise.resolve();
  parentPort?.on('message', ({ id, request }: WorkerRequest<Request>) => {
    queue = queue.then(async () => {
      let reply: WorkerResponse<Result>;
      try {
        reply = { id, result: await answer(request) };
      } catch (error) {
        reply = { id, error: error instanceof Error ? error.message : String(error) };
      }
      parentPort?.postMessage(reply);
    });
  });
}

/** Starts the compiled worker, or the TypeScript source with a loader when run from source (tests, development). */
function startWorker(module: string): Worker {
  if (!__filename.endsWith('.ts')) return new Worker(join(__dirname, `${module}.js`));
  return new Worker(join(__dirname, `${module}.ts`), { execArgv: ['--require', require.resolve('tsx/cjs')] });
}
