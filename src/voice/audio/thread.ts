import { join } from 'node:path';
import { parentPort, Worker } from 'node:worker_threads';

/** Work in a thread of its own: what takes a core for 50 ms at a time must not hold up the calls of this one. */
export interface Thread<Request, Result> {
  /** @throws Error when the work failed or took too long, the thread ended, or it was closed */
  ask(request: Request): Promise<Result>;
  /** How many requests have no answer yet. */
  pending(): number;
  close(): Promise<void>;
}

interface Question<Request> {
  id: number;
  request: Request;
}

type Answer<Result> = { id: number; result: Result } | { id: number; error: string };

interface Waiting<Result> {
  resolve(result: Result): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

/**
 * A thread that is started by the first request, and again after a crash or a request that took too long. It keeps no
 * process alive that waits for nothing of it.
 * @param options.module the file beside this one, without its ending, that calls `answerRequests`
 * @param options.name for errors
 */
export function createThread<Request, Result>(options: {
  module: string;
  name: string;
  withinMs: number;
}): Thread<Request, Result> {
  const { module, name, withinMs } = options;
  const waiting = new Map<number, Waiting<Result>>();
  let worker: Worker | undefined;
  let closed = false;
  let lastId = 0;

  function settle(id: number): Waiting<Result> | undefined {
    const entry = waiting.get(id);
    waiting.delete(id);
    clearTimeout(entry?.timer);
    if (waiting.size === 0) worker?.unref();
    return entry;
  }

  async function drop(reason: string): Promise<void> {
    const dropped = worker;
    worker = undefined;
    for (const id of waiting.keys()) settle(id)?.reject(new Error(reason));
    await dropped?.terminate();
  }

  function workerNow(): Worker {
    if (worker !== undefined) return worker;
    const started = startWorker(module);
    started.on('message', (answer: Answer<Result>) => {
      const entry = settle(answer.id);
      if ('error' in answer) entry?.reject(new Error(answer.error));
      else entry?.resolve(answer.result);
    });
    const ended = (reason: string) => {
      if (started === worker) void drop(reason);
    };
    started.on('error', (error: Error) => ended(error.message));
    started.on('exit', () => ended(`the thread of the ${name} ended`));
    worker = started;
    return started;
  }

  return {
    ask(request) {
      if (closed) return Promise.reject(new Error(`the ${name} is closed`));
      return new Promise((resolve, reject) => {
        const id = ++lastId;
        const timer = setTimeout(() => void drop(`the ${name} took too long`), withinMs);
        waiting.set(id, { resolve, reject, timer });
        const target = workerNow();
        target.ref();
        target.postMessage({ id, request } satisfies Question<Request>);
      });
    },
    pending: () => waiting.size,
    async close() {
      closed = true;
      await drop(`the ${name} is closed`);
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
