import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { SpeechReply, SpeechRequest } from './flite-worker.js';

export const FLITE_VOICES = ['slt', 'rms', 'awb', 'kal'] as const;
export type FliteVoice = (typeof FLITE_VOICES)[number];

export interface Synthesizer {
  /** Loads the voices, so that the first sentence comes as soon as every other. */
  warm(): Promise<void>;
  /**
   * Speaks English text.
   * @returns 8 kHz mu-law; a sentence of 3 s takes about 60 ms of one core
   * @throws Error when the text cannot be spoken within 20 s, or the synthesizer is closed
   */
  speak(text: string, voice: FliteVoice): Promise<Uint8Array>;
  close(): Promise<void>;
}

interface Waiting {
  resolve(mulaw: Uint8Array): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

const SPEAK_WITHIN_MS = 20_000;

/** Offline speech in a worker thread of its own; the thread is started by the first use and again after a crash. */
export function createSynthesizer(): Synthesizer {
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
    started.on('message', (reply: SpeechReply) => {
      const entry = settle(reply.id);
      if ('error' in reply) entry?.reject(new Error(reply.error));
      else entry?.resolve(reply.mulaw);
    });
    started.on('error', (error: Error) => started === worker && dropWorker(error));
    started.on('exit', () => started === worker && dropWorker(new Error('the speech thread ended')));
    worker = started;
    return started;
  }

  function speak(text: string, voice: FliteVoice): Promise<Uint8Array> {
    if (closed) return Promise.reject(new Error('the synthesizer is closed'));
    return new Promise((resolve, reject) => {
      const id = ++lastId;
      const timer = setTimeout(() => dropWorker(new Error('speaking took too long')), SPEAK_WITHIN_MS);
      waiting.set(id, { resolve, reject, timer });
      const target = workerNow();
      target.ref();
      target.postMessage({ id, text, voice } satisfies SpeechRequest);
    });
  }

  return {
    speak,
    async warm() {
      await speak('Hello.', 'slt');
    },
    async close() {
      closed = true;
      for (const id of waiting.keys()) settle(id)?.reject(new Error('the synthesizer is closed'));
      const last = worker;
      worker = undefined;
      await last?.terminate();
    },
  };
}

/** From the build the thread runs as it is; from the sources (tests, development) it needs the TypeScript loader. */
function startWorker(): Worker {
  if (!__filename.endsWith('.ts')) return new Worker(join(__dirname, 'flite-worker.js'));
  return new Worker(join(__dirname, 'flite-worker.ts'), { execArgv: ['--require', require.resolve('tsx/cjs')] });
}
