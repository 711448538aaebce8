import { useState } from 'preact/hooks';
import { Conversation } from '../pages/call-conversation';
import { usePortal } from '../session';
import type { Microphone } from '../talk/talk-audio';
import type { TalkState } from '../talk/talk-state';
import { useTalk, type TalkRequest } from '../talk/use-talk';
import { useCall } from '../use-call';
import { Failure } from './feedback';
import { Status } from './values';

/** Texts about a connection that has ended. */
const END_LABELS: Record<string, string> = {
  hung_up: 'You hung up.',
  replaced: 'The call continues in another tab.',
  rejected: 'The connection was rejected. Start another call.',
  failed: 'The call ended because of an error. Start another one.',
  connection_lost: 'The connection was lost for more than 30 seconds.',
};

const MICROPHONE_HINTS: Record<Microphone, string | undefined> = {
  on: undefined,
  denied: 'The browser may not use the microphone. Allow it in the address bar and talk again, or type your words.',
  none: 'This browser has no microphone here. Type your words.',
};

/** Talks with an agent by the microphone, or by typing, and shows the words as they are spoken. */
export function TalkPanel({ request }: { request: TalkRequest }) {
  const { api, mode } = usePortal();
  const talk = useTalk(api);
  const { state } = talk;
  const isOpen = talk.isStarting || (state !== undefined && state.phase !== 'ended');

  return (
    <section class="card" aria-label="Talk">
      <h2>Talk</h2>
      {talk.error === undefined ? null : <Failure>{talk.error.message}</Failure>}
      <p class="quiet">
        {mode === 'test'
          ? 'Talk with the agent in this browser. In test mode this costs nothing.'
          : 'Talk with the agent in this browser. In live mode the call is billed.'}
      </p>
      <div class="actions">
        {isOpen ? (
          <>
            {talk.isStarting ? null : (
              <button type="button" class="button" aria-pressed={talk.isMuted} onClick={() => talk.mute(!talk.isMuted)}>
                {talk.isMuted ? 'Unmute' : 'Mute'}
              </button>
            )}
            <button type="button" class="button button-bad" onClick={talk.end}>
              Hang up
            </button>
          </>
        ) : (
          <button type="button" class="button button-main" onClick={() => void talk.start(request)}>
            {state === undefined ? 'Start talking' : 'Talk again'}
          </button>
        )}
        <span role="status">{connectionLabel(talk.isStarting, state)}</span>
      </div>
      {isOpen && talk.microphone !== undefined && talk.microphone !== 'on' ? (
        <p class="notice">{MICROPHONE_HINTS[talk.microphone]}</p>
      ) : null}
      {state?.phase === 'talking' ? <TypedWords onSay={talk.say} /> : null}
      {talk.callId === undefined ? null : <Progress key={talk.callId} callId={talk.callId} />}
    </section>
  );
}

function connectionLabel(isStarting: boolean, state: TalkState | undefined): string {
  if (isStarting) return 'Connecting…';
  switch (state?.phase) {
    case undefined:
      return '';
    case 'connecting':
      return 'Connecting…';
    case 'talking':
      return 'Connected.';
    case 'lost':
      return 'The connection was lost. Connecting again…';
    case 'ended':
      return END_LABELS[state.reason] ?? 'The call has ended.';
  }
}

function TypedWords({ onSay }: { onSay: (text: string) => void }) {
  const [text, setText] = useState('');
  function submit(event: Event): void {
    event.preventDefault();
    if (text.trim() === '') return;
    onSay(text.trim());
    setText('');
  }
  return (
    <form class="say" onSubmit={submit}>
      <input
        aria-label="Your words"
        placeholder="Type instead of speaking"
        maxLength={1_000}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="submit" class="button">
        Say
      </button>
    </form>
  );
}

/** Shows the words and the status of a web call. */
function Progress({ callId }: { callId: string }) {
  const { api, mode, to } = usePortal();
  const call = useCall(api, mode, callId);
  if (call.state === 'failed') return <Failure>{call.error.message}</Failure>;
  if (call.data === undefined) return null;
  return (
    <>
      <Conversation call={call.data} live={call.conversation} />
      <p>
        <Status of={call.data.status} /> <a href={to(`/calls/${callId}`)}>View call</a>
      </p>
    </>
  );
}
