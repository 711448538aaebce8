import type { TranscriptTurn } from '../port.js';
import { BRIDGE, GOODBYE, REPLIES } from './lines.js';
import type { Script, ScriptedReply } from './script.js';

/**
 * The talk of an agent with nothing to find out: a fixed answer to each turn, then goodbye. It understands no words.
 * @param earlier what was said before the line broke
 */
export function createSmallTalk(earlier: readonly TranscriptTurn[] = []): Script {
  let replies = earlier.filter(({ speaker, text }) => speaker === 'agent' && REPLIES.includes(text)).length;

  function next(): ScriptedReply {
    const reply = REPLIES[replies];
    replies += 1;
    return reply === undefined ? { parts: [GOODBYE], over: 'agent' } : { parts: [reply] };
  }

  return {
    grammar: () => undefined,
    opening: () => ({ parts: [] }),
    again: () => [],
    bridge: () => ({ parts: [BRIDGE] }),
    onHeard: next,
    // Keys are a turn, too.
    onKey: () => undefined,
    onKeysPaused: next,
    values: () => ({}),
    upcoming: () => [],
  };
}
