import { meaningOf, sourceOf } from './grammar.js';
import type { Grammar, Meaning } from './grammar.js';
import type { RecognitionRequest } from './recogniser-worker.js';
import { createThread, ThreadBusy } from './thread.js';
import type { Asker } from './turns.js';

/** What came of listening. `text` are the words as they were understood, lower case. */
export type Recognition =
  | { outcome: 'understood'; text: string; meaning: Meaning }
  /** Something was said that is not of the grammar, or too unclear. */
  | { outcome: 'not understood' }
  /** Too many speak at once, this call's account most of all; nothing was listened to. */
  | { outcome: 'overloaded' };

export interface Recogniser {
  /** Loads the acoustic model, so that the first answer is understood as soon as every other. */
  warm(): Promise<void>;
  /**
   * Understands one utterance, US English, by a grammar. A decoder is leased for this only: 2 to 6 % of the utterance's
   * length on an idle core.
   * @param of in whose turn; the process's own, before all others, unless told
   * @param mulaw 8 kHz, with 200 to 300 ms of the line before and after the voice; over 20 s is not understood
   * @throws UnspeakableChoice; Error when the decoder failed, took over 10 s, or the recogniser is closed
   */
  recognise(mulaw: Uint8Array, grammar: Grammar, of?: Asker): Promise<Recognition>;
  close(): Promise<void>;
}

const RECOGNISE_WITHIN_MS = 10_000;
const WAIT_MS = 12_000;
const BYTES_PER_MS = 8;
const MAX_UTTERANCE_MS = 20_000;
/** At some 50 ms each, nobody waits more than about a second. */
const MAX_WAITING = 20;

/**
 * A grammar recogniser in a thread of its own, about 90 MB. (The library takes over a process's handlers of uncaught
 * errors; in a thread those are its own.)
 * @param options.maxWaiting utterances that may be in work or wait at a time
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
    // A copy: a view would take the whole buffer behind it along to the thread.
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
