import { join } from 'node:path';
import { parentPort, Worker } from 'node:worker_threads';
import { createAskerTurns, ITSELF, type Asker } from './turns.js';

/** The request was dropped without being processed, because the thread was too busy. */
export class ThreadBusy extends Error {}

/** A worker thread for work that takes a core for 50 ms at a time and would delay the calls of the main thread. */
export interface Thread<Request, Result> {
  /**
   * Queues a request; the thread processes one at a time: live calls first, then accounts and their calls in rotation.
   * @throws ThreadBusy if the request waits too long or the queue is full; Error if the work fails or takes too long,
   *   the thread ends, or the thread is closed
   */
  ask(request: Request, of?: Asker): Promise<Result>;
  close(): Promise<void>;
}

export interface ThreadLimits {
  /** Timeout for processing a request, in ms. Only that request is rejected. */
  withinMs: number;
  /** Maximum wait in the queue in ms, default 20 s. Above `withinMs`, so that a slow request rejects no other. */
  waitMs?: number;
  /** Maximum number of waiting requests, default 500. Above it, the account with most waiting requests loses one. */
  maxWaiting?: number;
}

interface Question<Request> {
  id: number;
  request: Request;
}

type Answer<Result> = { id: number; result: Result } | { id: number; error: string };

interface Waiting<Request, Result> {
  id: number;
  of: Asker;
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
 * @param options.module the file next to this one, without its extension, that calls `answerRequests`
 * @param options.name used in error messages
 */
export function createThread<Request, Result>(
  options: { module: string; name: string } & ThreadLimits,
): Thread<Request, Result> {
  const { module, name, withinMs, waitMs = WAIT_MS, maxWaiting = MAX_WAITING } = options;
  const turns = createAskerTurns<Waiting<Request, Result>>();
  let working: Waiting<Request, Result> | undefined;
  let worker: Worker | undefined;
  let closed = false;
  let lastId = 0;

  function reject(waiting: Waiting<Request, Result> | undefined, reason: string | Error): void {
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
    workOn();
    await ended?.terminate();
  }

  function workerNow(): Worker {
    if (worker !== undefined) return worker;
    const started = startWorker(module);
    started.on('message', (answer: Answer<Result>) => {
      if (started === worker) answered(answer);
    });
    const ended = (reason: string) => {
      if (started === worker) void replace(reason);
    };
    started.on('error', (error: Error) => ended(error.message));
    started.on('exit', () => ended(`the thread of the ${name} ended`));
    worker = started;
    return started;
  }

  function answered(answer: Answer<Result>): void {
    const done = working;
    if (done === undefined || done.id !== answer.id) return;
    working = undefined;
    if ('error' in answer) reject(done, answer.error);
    else {
      clearTimeout(done.timer);
      done.resolve(answer.result);
    }
    workOn();
  }

  function workOn(): void {
    if (working !== undefined || closed) return;
    working = turns.next();
    if (working === undefined) {
      worker?.unref();
      return;
    }
    const { id, request, timer } = working;
    clearTimeout(timer);
    const startMs = worker === undefined ? START_WITHIN_MS : 0;
    working.timer = setTimeout(() => void replace(`the ${name} took too long`), startMs + withinMs);
    const target = workerNow();
    target.ref();
    target.postMessage({ id, request } satisfies Question<Request>);
  }

  return {
    ask(request, of = ITSELF) {
      if (closed) return Promise.reject(new Error(`the ${name} is closed`));
      return new Promise((resolve, rejectIt) => {
        const waiting: Waiting<Request, Result> = { id: ++lastId, of, request, resolve, reject: rejectIt };
        waiting.timer = setTimeout(() => {
          if (turns.remove(waiting)) reject(waiting, new ThreadBusy(`the ${name} was busy for too long`));
        }, waitMs);
        turns.add(waiting);
        workOn();
        if (turns.size() > maxWaiting) reject(turns.dropOne(), new ThreadBusy(`too many wait for the ${name}`));
      });
    },
    async close() {
      closed = true;
      for (let left = turns.next(); left !== undefined; left = turns.next()) reject(left, `the ${name} is closed`);
      await replace(`the ${name} is closed`);
    },
  };
}

/** The worker's side: answers requests one at a time, in order. */
export function answerRequests<Request, Result>(answer: (request: Request) => Promise<Result>): void {
  let queue: Promise<void> = Promise.resolve();
  parentPort?.on('message', ({ id, request }: Question<Request>) => {
    queue = queue.then(async () => {
      let reply: Answer<Result>;
      try {
        reply = { id, result: await answer(request) };
      } catch (error) {
        reply = { id, error: error instanceof Error ? error.message : String(error) };
      }
      parentPort?.postMessage(reply);
    });
  });
}

/** The build runs the worker directly; the sources (tests, development) need the TypeScript loader. */
function startWorker(module: string): Worker {
  if (!__filename.endsWith('.ts')) return new Worker(join(__dirname, `${module}.js`));
  return new Worker(join(__dirname, `${module}.ts`), { execArgv: ['--require', require.resolve('tsx/cjs')] });
}
