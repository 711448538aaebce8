import type { ConversationSoFar } from '../../../../calls/views/schemas.js';

type Turns = ConversationSoFar['turns'];

/**
 * Adds the latest turns to earlier ones, which may contain some of them in an older state. Sorts them by start: speech
 * that is understood late comes after turns that began later.
 */
export function joinTurns(earlier: Turns, latest: Turns): Turns {
  const isLatest = ({ start_ms: startMs, speaker }: Turns[number]) =>
    latest.some((turn) => turn.start_ms === startMs && turn.speaker === speaker);
  const kept = earlier.filter((turn) => !isLatest(turn));
  return [...kept, ...latest].toSorted((a, b) => a.start_ms - b.start_ms || a.end_ms - b.end_ms);
}
