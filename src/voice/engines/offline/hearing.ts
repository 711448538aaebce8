import type { Grammar } from '../../audio/grammar.js';
import type { Recogniser } from '../../audio/recogniser.js';
import type { EndedTurn } from './ear.js';
import type { Heard } from './script.js';

/** Recognizes the turns of one call. */
export interface Hearing {
  /** Starts recognizing a turn that has probably ended, to shorten the wait for its result. */
  understandAhead(turn: EndedTurn, grammar: Grammar | undefined): void;
  /** Recognizes a turn. Never rejects: an error counts as `overloaded`. */
  understand(turn: EndedTurn, grammar: Grammar | undefined): Promise<Heard>;
}

interface Ahead {
  endMs: number;
  grammar: Grammar;
  heard: Promise<Heard>;
  isBusy: boolean;
}

/** @param deps.report reports errors of speech recognition */
export function createHearing(deps: { recogniser: Recogniser; report(error: Error): void }): Hearing {
  let ahead: Ahead | undefined;

  async function recognise(mulaw: Uint8Array, grammar: Grammar): Promise<Heard> {
    try {
      return await deps.recogniser.recognise(mulaw, grammar);
    } catch (error) {
      deps.report(error instanceof Error ? error : new Error(String(error)));
      return { outcome: 'overloaded' };
    }
  }

  return {
    understandAhead({ mulaw, endMs }, grammar) {
      if (grammar === undefined || ahead?.isBusy === true) return;
      const mine: Ahead = { endMs, grammar, heard: recognise(mulaw, grammar), isBusy: true };
      ahead = mine;
      void mine.heard.then(() => (mine.isBusy = false));
    },

    async understand({ mulaw, endMs }, grammar) {
      if (grammar === undefined) return { outcome: 'not listened' };
      // Reuse the early result, unless the caller has said more or the question has changed.
      if (ahead?.endMs === endMs && ahead.grammar === grammar) return ahead.heard;
      return recognise(mulaw, grammar);
    },
  };
}
