import type { Grammar } from '../../audio/grammar.js';
import type { GrammarStt } from '../../audio/grammar-stt.js';
import type { EndedTurn } from './turn-splitter.js';
import type { TurnRecognition } from './script.js';

/** Recognizes the turns of one call. */
export interface TurnRecognizer {
  /** Starts recognizing a turn that has probably ended, to shorten the wait for its result. */
  recognizeEarly(turn: EndedTurn, grammar: Grammar | undefined): void;
  /** Recognizes a turn. Never rejects: an error counts as `overloaded`. */
  recognize(turn: EndedTurn, grammar: Grammar | undefined): Promise<TurnRecognition>;
}

interface EarlyRecognition {
  endMs: number;
  grammar: Grammar;
  heard: Promise<TurnRecognition>;
  isBusy: boolean;
}

/** @param deps.report reports errors of speech recognition */
export function createTurnRecognizer(deps: { stt: GrammarStt; report(error: Error): void }): TurnRecognizer {
  let ahead: EarlyRecognition | undefined;

  async function recognize(mulaw: Uint8Array, grammar: Grammar): Promise<TurnRecognition> {
    try {
      return await deps.stt.recognize(mulaw, grammar);
    } catch (error) {
      deps.report(error instanceof Error ? error : new Error(String(error)));
      return { outcome: 'overloaded' };
    }
  }

  return {
    recognizeEarly({ mulaw, endMs }, grammar) {
      if (grammar === undefined || ahead?.isBusy === true) return;
      const mine: EarlyRecognition = { endMs, grammar, heard: recognize(mulaw, grammar), isBusy: true };
      ahead = mine;
      void mine.heard.then(() => (mine.isBusy = false));
    },

    async recognize({ mulaw, endMs }, grammar) {
      if (grammar === undefined) return { outcome: 'not listened' };
      // Reuse the early result, unless the caller has said more or the question has changed.
      if (ahead?.endMs === endMs && ahead.grammar === grammar) return ahead.heard;
      return recognize(mulaw, grammar);
    },
  };
}
