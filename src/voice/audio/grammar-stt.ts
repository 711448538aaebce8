import { meaningOf, sourceOf } from './grammar.js';
import type { Grammar, Meaning } from './grammar.js';
import type { RecognitionRequest } from './grammar-stt-worker.js';
import { createWorkerThread, ThreadBusyError } from './worker-thread.js';
import type { RequestOwner } from './request-queue.js';

/** The result of recognizing one utterance. `text` contains the recognized words in lower case. */
export type Recognition =
  | { outcome: 'understood'; text: string; meaning: Meaning }
  /** The speech does not match the grammar, or is too unclear. */
  | { outcome: 'not understood' }
  /** Not processed: too many requests are waiting, and this call's account has most of them. */
  | { outcome: 'overloaded' };

export interface GrammarStt {
  /** Loads the acoustic model, so that the first utterance is recognized as fast as later ones. */
  warm(): Promise<void>;
  /**
   * Recognizes one utterance in US English against a grammar. Recognition takes 2 to 6 % of the utterance's length on
   * an idle core.
   * @param mulaw 8 kHz, with 200 to 300 ms of audio before and after the voice; if it is longer than 20 s, the result
   *   is `not understood`
   * @param owner the caller's call; without it, the request is queued with those of live-mode calls
   * @throws UnspeakableChoiceError; Error if the decoder fails or takes over 10 s, or after `close`
   */
  recognize(mulaw: Uint8Array, grammar: Grammar, owner?: RequestOwner): Promise<Recognition>;
  close(): Promise<void>;
}

const RECOGNISE_WITHIN_MS = 10_000;
const WAIT_MS = 12_000;
const BYTES_PER_MS = 8;
const MAX_UTTERANCE_MS = 20_000;
/** Maximum utterances in progress and waiting. At about 50 ms per utterance, a request waits about a second at most. */
const MAX_WAITING = 20;

/**
 * Grammar-based speech recognition in a separate worker thread, which takes about 90 MB. The library installs its own
 * handlers for uncaught errors; in a worker they do not affect the rest of the process.
 * @param options.maxQueued maximum number of utterances in progress and waiting
 */
export function createGrammarStt(options: { maxQueued?: number } = {}): GrammarStt {
  const thread = createWorkerThread<RecognitionRequest, string>({
    module: 'grammar-stt-worker',
    name: 'speech recognizer',
    timeoutMs: RECOGNISE_WITHIN_MS,
    queueTimeoutMs: WAIT_MS,
    maxQueued: (options.maxQueued ?? MAX_WAITING) - 1,
  });

  async function recognize(mulaw: Uint8Array, grammar: Grammar, owner?: RequestOwner): Promise<Recognition> {
    const source = sourceOf(grammar);
    if (mulaw.length > MAX_UTTERANCE_MS * BYTES_PER_MS) return { outcome: 'not understood' };
    // Copy the audio, because posting a view of it would send its whole underlying buffer to the thread.
    const text = await heard({ mulaw: new Uint8Array(mulaw), source }, owner);
    if (text === undefined) return { outcome: 'overloaded' };
    const meaning = meaningOf(grammar, text);
    return meaning === undefined ? { outcome: 'not understood' } : { outcome: 'understood', text, meaning };
  }

  async function heard(request: RecognitionRequest, owner?: RequestOwner): Promise<string | undefined> {
    try {
      return await thread.run(request, owner);
    } catch (error) {
      if (error instanceof ThreadBusyError) return undefined;
      throw error;
    }
  }

  return {
    recognize,
    async warm() {
      await recognize(new Uint8Array(200 * BYTES_PER_MS).fill(0xff), { kind: 'yes-no' });
    },
    close: () => thread.close(),
  };
}
