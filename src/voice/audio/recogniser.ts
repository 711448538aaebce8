import { meaningOf, sourceOf } from './grammar.js';
import type { Grammar, Meaning } from './grammar.js';
import type { RecognitionRequest } from './recogniser-worker.js';
import { createThread, ThreadBusy } from './thread.js';
import type { Asker } from './turns.js';

/** The result of recognizing one utterance. `text` contains the recognized words in lower case. */
export type Recognition =
  | { outcome: 'understood'; text: string; meaning: Meaning }
  /** The speech does not match the grammar, or is too unclear. */
  | { outcome: 'not understood' }
  /** Not processed: too many requests are waiting, and this call's account has most of them. */
  | { outcome: 'overloaded' };

export interface Recogniser {
  /** Loads the acoustic model, so that the first utterance is recognized as fast as later ones. */
  warm(): Promise<void>;
  /**
   * Recognizes one utterance in US English against a grammar. The decoder is busy only for that time: 2 to 6 % of the
   * utterance's length on an idle core.
   * @param mulaw 8 kHz, with 200 to 300 ms of audio before and after the voice; over 20 s the result is `not
   *   understood`
   * @param of the call to queue the work for; by default the process itself, whose requests count as live
   * @throws UnspeakableChoice; Error if the decoder fails or takes over 10 s, or after `close`
   */
  recognise(mulaw: Uint8Array, grammar: Grammar, of?: Asker): Promise<Recognition>;
  close(): Promise<void>;
}

const RECOGNISE_WITHIN_MS = 10_000;
const WAIT_MS = 12_000;
const BYTES_PER_MS = 8;
const MAX_UTTERANCE_MS = 20_000;
/** At about 50 ms per utterance, a request waits about a second at most. */
const MAX_WAITING = 20;

/**
 * Grammar-based speech recognition in its own worker thread, about 90 MB. The library installs its own handlers for
 * uncaught errors; in a worker they do not affect the rest of the process.
 * @param options.maxWaiting utterances in progress and waiting at a time
 */
export function createRecogniser(options: { maxWaiting?: number } = {}): Recogniser {
  const thread = createThread<RecognitionRequest, string>({
    module: 'recogniser-worker',
    name: 'recogniser',
    withinMs: RECOGNISE_WITHIN_MS,
    waitMs: WAIT_MS,
    maxWaiting: (options.maxWaiting ?? MAX_WAITING) - 1,
  });

  async function recognise(mulaw: Uint8Array, grammar: Grammar, of?: Asker): Promise<Recognition> {
    const source = sourceOf(grammar);
    if (mulaw.length > MAX_UTTERANCE_MS * BYTES_PER_MS) return { outcome: 'not understood' };
    // Copy: posting a view would send its whole underlying buffer to the thread.
    const text = await heard({ mulaw: new Uint8Array(mulaw), source }, of);
    if (text === undefined) return { outcome: 'overloaded' };
    const meaning = meaningOf(grammar, text);
    return meaning === undefined ? { outcome: 'not understood' } : { outcome: 'understood', text, meaning };
  }

  async function heard(request: RecognitionRequest, of?: Asker): Promise<string | undefined> {
    try {
      return await thread.ask(request, of);
    } catch (error) {
      if (error instanceof ThreadBusy) return undefined;
      throw error;
    }
  }

  return {
    recognise,
    async warm() {
      await recognise(new Uint8Array(200 * BYTES_PER_MS).fill(0xff), { kind: 'yes-no' });
    },
    close: () => thread.close(),
  };
}
