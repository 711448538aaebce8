import type { Grammar } from '../../audio/grammar.js';
import type { Recogniser } from '../../audio/recogniser.js';
import type { EndedTurn } from './ear.js';
import type { Heard } from './script.js';

/** What the caller's turns mean, one call's. */
export interface Hearing {
  /** Begins to understand a turn that is probably over, so that its end need not be waited for. */
  understandAhead(turn: EndedTurn, grammar: Grammar | undefined): void;
  /** Never rejects: what cannot be listened to counts as `overloaded`. */
  understand(turn: EndedTurn, grammar: Grammar | undefined): Promise<Heard>;
}

interface Ahead {
  endMs: number;
  grammar: Grammar;
  heard: Promise<Heard>;
  isBusy: boolean;
}

/** @param deps.report told of a recogniser that failed */
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
      // Unless more was said since, or the question has changed.
      if (ahead?.endMs === endMs && ahead.grammar === grammar) return ahead.heard;
      return recognise(mulaw, grammar);
    },
  };
}
