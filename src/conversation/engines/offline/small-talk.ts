import { GO_ON, GOODBYE, REPLIES } from './lines.js';
import type { Script } from './script.js';

/** The talk of an agent with nothing to find out: a fixed answer to each turn, then goodbye. It understands no words. */
export function createSmallTalk(): Script {
  let replies = 0;
  return {
    grammar: () => undefined,
    opening: () => [],
    again: () => (replies > 0 ? [GO_ON] : []),
    onHeard() {
      const reply = REPLIES[replies];
      replies += 1;
      return reply === undefined ? { parts: [GOODBYE], over: 'now' } : { parts: [reply] };
    },
    onKey: () => undefined,
    onKeysPaused: () => undefined,
    values: () => ({}),
    upcoming: () => [],
  };
}
