import { join } from 'node:path';
import { parentPort, Worker } from 'node:worker_threads';
import { createAskerTurns, ITSELF, type Asker } from './turns.js';

/** Nothing was done for want of time. */
export class ThreadBusy extends Error {}

/** Work in a thread of its own: what takes a core for 50 ms at a time must not hold up the calls of this one. */
export interface Thread<Request, Result> {
  /**
   * One request is worked on at a time; live calls come first, then accounts and their calls take turns.
   * @throws ThreadBusy when it waited too long, or among too many; Error when the work failed or took too long, the thread
   *   ended, or it was closed
   */
  ask(request: Request, of?: Asker): Promise<Result>;
  close(): Promise<void>;
}

export interface ThreadLimits {
  /** How long a request may be worked on, ms. It is rejected then, and no other. */
  withinMs: number;
  /** How long a request may wait before, ms; 20 s unless told. Longer than `withinMs`, so that a slow one rejects no other. */
  waitMs?: number;
  /** How many may wait, 500 unless told; when more do, those who ask for most get fewer. */
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

/** A thread that begins loads its models with the first request. */
const START_WITHIN_MS = 20_000;
const WAIT_MS = 20_000;
const MAX_WAITING = 500;

/**
 * A thread that is started by the first request, and again after a crash or a request that took too long. It keeps no
 * process alive that waits for nothing of it.
 * @param options.module the file beside this one, without its ending, that calls `answerRequests`
 * @param options.name for errors
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

  /** Ends the thread, and with it what it works on; the next one takes up what waits. */
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

/** The other end: answers a thread's requests, one after the other, in their order. */
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

/** From the build the thread runs as it is; from the sources (tests, development) it needs the TypeScript loader. */
function startWorker(module: string): Worker {
  if (!__filename.endsWith('.ts')) return new Worker(join(__dirname, `${module}.js`));
  return new Worker(join(__dirname, `${module}.ts`), { execArgv: ['--require', require.resolve('tsx/cjs')] });
}
