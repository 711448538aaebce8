import { useEffect, useRef } from 'preact/hooks';
import type { Call, ConversationSoFar } from '../../../calls/views/schemas.js';
import { queryText } from '../api';
import { Turns } from '../components/call/turns';
import { useTranscript } from '../components/call/use-conversation';
import { usePlayer } from '../components/call/use-player';
import { Loaded } from '../components/feedback';
import { usePortal } from '../session';

/**
 * The words of a call beside the form of the person who takes part in it, with a plain player once there is a recording. The page of the call has the
 * waveform.
 * @param live the latest turns of a call in progress
 */
export function Conversation({ call, live }: { call: Call; live: ConversationSoFar | undefined }) {
  const { mode } = usePortal();
  const player = usePlayer();
  const audio = useRef<HTMLAudioElement>(null);
  const { transcript, turns, interim } = useTranscript(call, live);
  useEffect(() => {
    player.attach(audio.current);
    return () => player.attach(null);
  }, [player, call.has_recording]);
  return (
    <>
      {call.has_recording ? (
        <audio
          ref={audio}
          controls
          preload="metadata"
          aria-label="Recording: the other person on the left channel, the agent on the right"
          src={`/calls/${call.call_id}/recording${queryText({ mode })}`}
        />
      ) : null}
      <Loaded of={transcript}>
        {() => <Turns call={call} turns={turns} interim={interim} player={player} isOwn />}
      </Loaded>
    </>
  );
}
