import type { TranscriptTurn } from '../port.js';
import { BRIDGE, GOODBYE, REPLIES } from './lines.js';
import type { Script } from './script.js';

/**
 * The talk of an agent with nothing to find out: a fixed answer to each turn, then goodbye. It understands no words.
 * @param earlier what was said before the line broke
 */
export function createSmallTalk(earlier: readonly TranscriptTurn[] = []): Script {
  let replies = earlier.filter(({ speaker, text }) => speaker === 'agent' && REPLIES.includes(text)).length;
  return {
    grammar: () => undefined,
    opening: () => [],
    again: () => [],
    bridge: () => [BRIDGE],
    onHeard() {
      const reply = REPLIES[replies];
      replies += 1;
      return reply === undefined ? { parts: [GOODBYE], over: 'agent' } : { parts: [reply] };
    },
    onKey: () => undefined,
    onKeysPaused: () => undefined,
    values: () => ({}),
    upcoming: () => [],
  };
}
