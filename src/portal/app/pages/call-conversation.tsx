import { useRef } from 'preact/hooks';
import type { Call, Transcript } from '../../../calls/views/schemas.js';
import { queryText } from '../api';
import { Loaded } from '../components/feedback';
import { duration } from '../format';
import { speakerLabel } from '../labels';
import { usePortal } from '../session';
import { useData } from '../use-data';

/** Shows the recording and the transcript. Clicking a turn plays the recording from the start of that turn. */
export function Conversation({ call }: { call: Call }) {
  const { api, mode } = usePortal();
  const player = useRef<HTMLAudioElement>(null);
  const transcript = useData(`${mode} ${call.call_id} ${call.updated_at}`, (signal) =>
    api.get<Transcript>(`/calls/${call.call_id}/transcript`, {}, signal),
  );

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
        isEmpty={({ turns }) => turns.length === 0}
        empty="No transcript: nothing was said, or the call was erased."
      >
        {({ turns }) => (
          <div class="talk">
            {turns.map((turn) => (
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
          </div>
        )}
      </Loaded>
    </>
  );
}
