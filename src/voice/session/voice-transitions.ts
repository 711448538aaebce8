import type { SessionHappening } from './reducer/events.js';
import type { TurnTaking } from './turn-taking.js';

/** Turns VAD results into session events: one per transition, not per frame. */
export function createVoiceTransitions(p: {
  turnTaking: Pick<TurnTaking, 'openTurn'>;
  /** Ms from the start of the stream, on a monotonic clock. */
  now: () => number;
  happened(what: SessionHappening): void;
}) {
  let isVoiced = false;
  let voiceEndMs = 0;
  let lastVoiceAtMs = 0;

  /** A turn stays open during the pause before its end; it counts as voiced only while it grows. */
  function hearVoice(streamMs: number): void {
    const open = p.turnTaking.openTurn();
    const grows = open !== undefined && open.endMs >= streamMs;
    if (grows) {
      lastVoiceAtMs = p.now();
      voiceEndMs = open.endMs;
    }
    if (grows === isVoiced) return;
    isVoiced = grows;
    if (grows) p.happened({ type: 'voice_started', startMs: open.startMs, streamMs });
    else p.happened({ type: 'voice_paused', endMs: voiceEndMs, lastVoiceAtMs });
  }

  /** Call it for each frame, after VAD. @param streamMs the frame's end, on the carrier's clock */
  return function frameTaken(streamMs: number, hasEndedTurn: boolean): void {
    hearVoice(streamMs);
    if (hasEndedTurn) p.happened({ type: 'voice_ended', streamMs });
  };
}
