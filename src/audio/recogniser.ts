import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { meaningOf, sourceOf } from './grammar.js';
import type { Grammar, Meaning } from './grammar.js';
import type { RecognitionReply, RecognitionRequest } from './recogniser-worker.js';

/** What came of listening. `text` are the words as they were understood, lower case. */
export type Recognition =
  | { outcome: 'understood'; text: string; meaning: Meaning }
  /** Something was said that is not of the grammar, or too unclear. */
  | { outcome: 'not understood' }
  /** Too many speak at once; nothing was listened to. */
  | { outcome: 'overloaded' };

export interface Recogniser {
  /** Loads the acoustic model, so that the first answer is understood as soon as every other. */
  warm(): Promise<void>;
  /**
   * Understands one utterance, US English, by a grammar. A decoder is leased for this only: 2 to 6 % of the utterance's
   * length on an idle core.
   * @param mulaw 8 kHz, with 200 to 300 ms of the line before and after the voice; over 20 s is not understood
   * @throws UnspeakableChoice; Error when the decoder failed, took over 10 s, or the recogniser is closed
   */
  recognise(mulaw: Uint8Array, grammar: Grammar): Promise<Recognition>;
  close(): Promise<void>;
}

interface Waiting {
  resolve(text: string): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

const RECOGNISE_WITHIN_MS = 10_000;
const BYTES_PER_MS = 8;
const MAX_UTTERANCE_MS = 20_000;
/** At some 50 ms each, nobody waits more than about a second. */
const MAX_WAITING = 20;

/**
 * A grammar recogniser in a worker thread of its own, about 90 MB; the thread is started by the first use and again after
 * a crash. (The library takes over a process's handlers of uncaught errors; in a thread those are its own.)
 * @param options.maxWaiting utterances that may be in work or wait at a time
 */
export function createRecogniser(options: { maxWaiting?: number } = {}): Recogniser {
  const maxWaiting = options.maxWaiting ?? MAX_WAITING;
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let closed = false;
  let lastId = 0;

  function settle(id: number): Waiting | undefined {
    const entry = waiting.get(id);
    waiting.delete(id);
    clearTimeout(entry?.timer);
    if (waiting.size === 0) worker?.unref();
    return entry;
  }

  function dropWorker(reason: Error): void {
    const dropped = worker;
    worker = undefined;
    for (const id of waiting.keys()) settle(id)?.reject(reason);
    void dropped?.terminate();
  }

  function workerNow(): Worker {
    if (worker !== undefined) return worker;
    const started = startWorker();
    started.on('message', (reply: RecognitionReply) => {
      const entry = settle(reply.id);
      if ('error' in reply) entry?.reject(new Error(reply.error));
      else entry?.resolve(reply.text);
    });
    started.on('error', (error: Error) => started === worker && dropWorker(error));
    started.on('exit', () => started === worker && dropWorker(new Error('the recogniser thread ended')));
    worker = started;
    return started;
  }

  function decode(request: Omit<RecognitionRequest, 'id'>): Promise<string> {
    return new Promise((resolve, reject) => {
      const id = ++lastId;
      const timer = setTimeout(() => dropWorker(new Error('recognising took too long')), RECOGNISE_WITHIN_MS);
      waiting.set(id, { resolve, reject, timer });
      const target = workerNow();
      target.ref();
      target.postMessage({ id, ...request } satisfies RecognitionRequest);
    });
  }

  const recogniser: Recogniser = {
    async warm() {
      await recogniser.recognise(new Uint8Array(200 * BYTES_PER_MS).fill(0xff), { kind: 'yes-no' });
    },
    async recognise(mulaw, grammar) {
      if (closed) throw new Error('the recogniser is closed');
      const source = sourceOf(grammar);
      if (waiting.size >= maxWaiting) return { outcome: 'overloaded' };
      if (mulaw.length > MAX_UTTERANCE_MS * BYTES_PER_MS) return { outcome: 'not understood' };
      // A copy: a view would take the whole buffer behind it along to the thread.
      const text = await decode({ mulaw: new Uint8Array(mulaw), source });
      const meaning = meaningOf(grammar, text);
      return meaning === undefined ? { outcome: 'not understood' } : { outcome: 'understood', text, meaning };
    },
    async close() {
      closed = true;
      for (const id of waiting.keys()) settle(id)?.reject(new Error('the recogniser is closed'));
      const last = worker;
      worker = undefined;
      await last?.terminate();
    },
  };
  return recogniser;
}

/** From the build the thread runs as it is; from the sources (tests, development) it needs the TypeScript loader. */
function startWorker(): Worker {
  if (!__filename.endsWith('.ts')) return new Worker(join(__dirname, 'recogniser-worker.js'));
  return new Worker(join(__dirname, 'recogniser-worker.ts'), { execArgv: ['--require', require.resolve('tsx/cjs')] });
}
