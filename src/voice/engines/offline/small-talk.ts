import type { TranscriptTurn } from '../port.js';
import { BRIDGE, GOODBYE, REPLIES } from './phrases.js';
import type { Script, ScriptedReply } from './script.js';

/**
 * The conversation of an agent without values to collect: fixed replies, then goodbye. Recognizes no words.
 * @param earlier turns from before a resume
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
    onTurn: next,
    // DTMF digits count as a turn.
    onDigit: () => undefined,
    onDigitsPaused: next,
    values: () => ({}),
    upcoming: () => [],
  };
}
