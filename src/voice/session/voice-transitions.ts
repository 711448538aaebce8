import type { SessionEventBody } from './reducer/events.js';
import type { TurnTaking } from './turn-taking.js';

/** Turns VAD results into session events, only when voice starts or stops and not for every frame. */
export function createVoiceTransitions(p: {
  turnTaking: Pick<TurnTaking, 'openTurn'>;
  /** Time in ms since the start of the stream, on a monotonic clock. */
  now: () => number;
  dispatch(what: SessionEventBody): void;
}) {
  let isVoiced = false;
  let voiceEndMs = 0;
  let lastVoiceAtMs = 0;

  /** Dispatches an event when the caller begins or stops speaking. The caller has stopped if the open turn no longer grows. */
  function updateVoice(streamMs: number): void {
    const open = p.turnTaking.openTurn();
    const grows = open !== undefined && open.endMs >= streamMs;
    if (grows) {
      lastVoiceAtMs = p.now();
      voiceEndMs = open.endMs;
    }
    if (grows === isVoiced) return;
    isVoiced = grows;
    if (grows) p.dispatch({ type: 'voice_started', startMs: open.startMs, streamMs });
    else p.dispatch({ type: 'voice_paused', endMs: voiceEndMs, lastVoiceAtMs });
  }

  /** Call it for each frame, after VAD. @param streamMs the frame's end, on the carrier's clock */
  return function onFrame(streamMs: number, hasEndedTurn: boolean): void {
    updateVoice(streamMs);
    if (hasEndedTurn) p.dispatch({ type: 'voice_ended', streamMs });
  };
}
