import type { SessionHappening } from './reducer/events.js';
import type { TurnTaking } from './turn-taking.js';

/** Reports what voice detection makes of the caller's frames: transitions, not frames. */
export function createVoiceTransitions(p: {
  turnTaking: Pick<TurnTaking, 'openTurn'>;
  /** Ms from the start of the stream, on a clock that never steps. */
  now: () => number;
  happened(what: SessionHappening): void;
}) {
  let isVoiced = false;
  let voiceEndMs = 0;
  let lastVoiceAtMs = 0;

  /** An open turn is silent, too, while its end is waited for: it is voiced while it grows. */
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

  /** To be told of each frame after voice detection was. @param streamMs the frame's end, on the carrier's clock */
  return function frameTaken(streamMs: number, hasEndedTurn: boolean): void {
    hearVoice(streamMs);
    if (hasEndedTurn) p.happened({ type: 'voice_ended', streamMs });
  };
}
