import { FRAME_MS } from '../../audio/frame.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import type { TurnTaking } from '../../session/turn-taking.js';
import { createVoiceTransitions } from '../../session/voice-transitions.js';
import type { Provider, ProviderChain } from '../chain/provider-chain.js';
import { SilentProviderError, type ProviderError, type SpeechToText, type SttOptions } from './ports.js';
import { openReconnectingStt } from './stt/reconnecting-stt.js';

export type CallerSide = ReturnType<typeof listenToCaller>;

/** Listens to the caller: turns VAD transitions and STT results into session events. */
export function listenToCaller(p: {
  turnTaking: TurnTaking;
  chain: ProviderChain<SpeechToText>;
  options: SttOptions;
  stalledMs: number;
  now: () => number;
  dispatch: (what: SessionEventBody) => void;
  /** Called with each interim transcript of the turn. */
  onWords(text: string): void;
  onBilled(seconds: number, provider: Provider<SpeechToText>): void;
  onSent(frames: number, provider: Provider<SpeechToText>): void;
  onProviderChanged(stt: SpeechToText): void;
  /** Called at each failure of STT, also if it is opened again. */
  onFailure(error: ProviderError): void;
  onGone(error: ProviderError): void;
}) {
  const { turnTaking, dispatch } = p;
  /** The end of the last frame, on the carrier's clock. */
  let streamMs = 0;
  const onFrame = createVoiceTransitions({ turnTaking, now: p.now, dispatch: p.dispatch });

  const stream = openReconnectingStt({
    chain: p.chain,
    options: p.options,
    stallError: () => new SilentProviderError('recogniser', `sent nothing for ${p.stalledMs} ms`),
    events: {
      onInterim(text) {
        p.onWords(text);
        dispatch({ type: 'words', text, streamMs });
      },
      onProbableEnd(text) {
        p.onWords(text);
        dispatch({ type: 'turn_may_end', text, streamMs });
      },
      onTurnContinued: () => dispatch({ type: 'turn_goes_on' }),
      onEnd: (text) => dispatch({ type: 'turn_ended', text, streamMs }),
      onActivity: () => dispatch({ type: 'recogniser_alive' }),
      onBilled: (seconds, provider) => p.onBilled(seconds, provider),
      onSent: (frames, provider) => p.onSent(frames, provider),
      onProviderChanged: (stt) => p.onProviderChanged(stt),
      onReconnecting(error) {
        p.onFailure(error);
        dispatch({ type: 'recogniser_lost' });
      },
      onReopened: () => dispatch({ type: 'recogniser_reopened' }),
      onGone(error) {
        p.onFailure(error);
        p.onGone(error);
      },
    },
  });

  return {
    /** @param frame 20 ms of 8 kHz mu-law */
    push(frame: Uint8Array, timestampMs: number): void {
      stream.push(frame);
      streamMs = timestampMs + FRAME_MS;
      const { ended } = turnTaking.push(frame, timestampMs);
      onFrame(streamMs, ended !== undefined);
    },
    finalize: () => stream.finalize(),
    discardTurn: () => stream.discardTurn(),
    reopen: () => stream.stalled(),
    close(): void {
      stream.close();
      turnTaking.free();
    },
  };
}
