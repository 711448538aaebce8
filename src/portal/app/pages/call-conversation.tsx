import { useRef } from 'preact/hooks';
import type { Call, ConversationSoFar, Transcript } from '../../../calls/views/schemas.js';
import { queryText } from '../api';
import { Loaded } from '../components/feedback';
import { duration } from '../format';
import { speakerLabel } from '../labels';
import { usePortal } from '../session';
import { isFinalStatus } from '../../../kernel/call-state.js';
import { joinTurns } from '../use-call';
import { useData } from '../use-data';

/**
 * Shows the recording and the transcript. Clicking a turn plays the recording from the start of that turn.
 * @param live the latest turns of a call in progress
 */
export function Conversation({ call, live }: { call: Call; live: ConversationSoFar | undefined }) {
  const { api, mode } = usePortal();
  const player = useRef<HTMLAudioElement>(null);
  // A call in progress is updated by events, so its transcript is read once.
  const version = isFinalStatus(call.status) ? call.updated_at : '';
  const transcript = useData(`${mode} ${call.call_id} ${version}`, (signal) =>
    api.get<Transcript>(`/calls/${call.call_id}/transcript`, {}, signal),
  );

  const interim = isFinalStatus(call.status) ? [] : (live?.interim ?? []);
  const withLive = (turns: Transcript['turns']) =>
    isFinalStatus(call.status) ? turns : joinTurns(turns, live?.turns ?? []);

  function playFrom(ms: number): void {
    if (player.current === null) return;
    player.current.currentTime = ms / 1_000;
    void player.current.play();
  }

  return (
    <>
      {call.has_recording ? (
        <audio
          ref={player}
          controls
          preload="metadata"
          aria-label="Recording: the other person on the left channel, the agent on the right"
          src={`/calls/${call.call_id}/recording${queryText({ mode })}`}
        />
      ) : null}
      <Loaded
        of={transcript}
        isEmpty={({ turns }) => withLive(turns).length === 0 && interim.length === 0}
        empty={
          isFinalStatus(call.status)
            ? 'No transcript: nothing was said, or the call was erased.'
            : 'The words appear here as they are spoken.'
        }
      >
        {({ turns }) => (
          <div class="talk">
            {withLive(turns).map((turn) => (
              <button
                key={`${turn.start_ms} ${turn.speaker}`}
                type="button"
                class={turn.speaker}
                disabled={!call.has_recording}
                onClick={() => playFrom(turn.start_ms)}
              >
                <small>
                  {speakerLabel(turn.speaker, call.call_direction)} · {duration(turn.start_ms / 1_000)}
                  {turn.latency_ms === undefined ? '' : ` · response in ${(turn.latency_ms / 1_000).toFixed(1)} s`}
                </small>
                {turn.text}
              </button>
            ))}
            {interim.map(({ speaker, text }) => (
              <p key={speaker} class={`interim ${speaker}`}>
                <small>{speakerLabel(speaker, call.call_direction)} · speaking</small>
                {text}
              </p>
            ))}
          </div>
        )}
      </Loaded>
    </>
  );
}
