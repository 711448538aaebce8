import { FRAME_MS } from '../../audio/frame.js';
import type { SessionHappening } from '../../session/reducer/events.js';
import type { TurnTaking } from '../../session/turn-taking.js';
import { createVoiceTransitions } from '../../session/voice-transitions.js';
import { ProviderError, type SpeechToText } from './ports.js';
import { openSteadyRecogniser } from './stt/steady.js';

export type CallerSide = ReturnType<typeof listenToCaller>;

/** The caller's side of the line: turns VAD transitions and STT results into session events. */
export function listenToCaller(p: {
  turnTaking: TurnTaking;
  recogniser: SpeechToText;
  language: string;
  stalledMs: number;
  now: () => number;
  happened: (what: SessionHappening) => void;
  onGone(error: ProviderError): void;
}) {
  const { turnTaking, happened } = p;
  /** The end of the last frame, on the carrier's clock. */
  let streamMs = 0;
  const frameTaken = createVoiceTransitions({ turnTaking, now: p.now, happened: p.happened });

  const stream = openSteadyRecogniser({
    recogniser: p.recogniser,
    language: p.language,
    stallError: () => new ProviderError('recogniser', `sent nothing for ${p.stalledMs} ms`),
    events: {
      onWords: (text) => happened({ type: 'words', text, streamMs }),
      onMayEnd: (text) => happened({ type: 'turn_may_end', text, streamMs }),
      onGoesOn: () => happened({ type: 'turn_goes_on' }),
      onEnd: (text) => happened({ type: 'turn_ended', text, streamMs }),
      onAlive: () => happened({ type: 'recogniser_alive' }),
      onTrouble: () => happened({ type: 'recogniser_lost' }),
      onReopened: () => happened({ type: 'recogniser_reopened' }),
      onGone: (error) => p.onGone(error),
    },
  });

  return {
    /** @param frame 20 ms of 8 kHz mu-law */
    push(frame: Uint8Array, timestampMs: number): void {
      stream.push(frame);
      streamMs = timestampMs + FRAME_MS;
      const { ended } = turnTaking.push(frame, timestampMs);
      frameTaken(streamMs, ended !== undefined);
    },
    hurry: () => stream.hurry(),
    forget: () => stream.forget(),
    reopen: () => stream.stalled(),
    close(): void {
      stream.close();
      turnTaking.free();
    },
  };
}
