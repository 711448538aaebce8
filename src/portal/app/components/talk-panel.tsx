import { useState } from 'preact/hooks';
import { usePortal } from '../session';
import type { Microphone } from '../talk/talk-audio';
import type { TalkState } from '../talk/talk-state';
import type { TalkRequest } from '../talk/open-talk';
import { useTalk } from '../talk/use-talk';
import { Failure } from './feedback';
import { Icon } from './icon';
import { BrowserCall } from './studio/browser-call';
import { ShownInTalk } from './studio/shown-in-talk';

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

const NOISE_HINT =
  'The microphone hears sound all the time, so the agent waits for you to finish. If you are not speaking, mute the microphone and type.';

/**
 * Talks with an agent by the microphone, or by typing, and shows the call as it happens.
 * @param p.request returns the request for a call with the agent as it is now
 * @param p.onRejected returns whether the error is shown elsewhere
 */
export function TalkPanel(p: {
  /** The engine that would conduct the call. */
  engine: string;
  /** Whether the agent collects no data. */
  asksNothing: boolean;
  request: () => TalkRequest;
  onStart: () => void;
  onRejected: (error: Error) => boolean;
}) {
  const { api } = usePortal();
  const talk = useTalk(api);
  const [isShownElsewhere, setShownElsewhere] = useState(false);
  const { state } = talk;

  async function start(): Promise<void> {
    setShownElsewhere(false);
    p.onStart();
    const error = await talk.start(p.request());
    if (error !== undefined) setShownElsewhere(p.onRejected(error));
  }

  return (
    <>
      <section class="card talk-card" aria-label="Talk" id="talk">
        <h2>Talk</h2>
        {talk.error === undefined ? null : (
          <Failure>
            {isShownElsewhere ? 'The call did not start: correct the marked fields of the agent.' : talk.error.message}
          </Failure>
        )}
        {state === undefined ? <Introduction engine={p.engine} /> : null}
        <Controls talk={talk} onStart={() => void start()} />
        {p.engine === 'offline-demo' && p.asksNothing ? (
          <p class="hint">
            Add a field under <a href="#data">Data</a> to hear it ask.
          </p>
        ) : null}
        {state?.phase === 'talking' ? <TypedWords onSay={talk.say} /> : null}
      </section>
      {talk.callId === undefined ? null : <BrowserCall key={talk.callId} callId={talk.callId} />}
    </>
  );
}

/** Explains calls in the browser before the first one. */
function Introduction({ engine }: { engine: string }) {
  const { mode } = usePortal();
  return (
    <>
      <p>
        Talk with the agent as it is in the form now. Nothing is saved.{' '}
        {mode === 'test' ? 'In test mode this costs test money only.' : 'In live mode the call is billed.'} You see:
      </p>
      <ShownInTalk />
      {engine === 'offline-demo' ? (
        <p class="notice talk-offline">
          <strong>The offline demo answers.</strong> It says the first sentence of the instruction and asks one question
          for each field under Data. It hears yes and no, digits and listed choices; type other answers. It does not
          follow the rest of the instruction: an operator sets <code>OPENAI_API_KEY</code> for that.
        </p>
      ) : null}
    </>
  );
}

/** Buttons for the start and the end of a call, the state of its connection, and hints about the microphone. */
function Controls({ talk, onStart }: { talk: ReturnType<typeof useTalk>; onStart: () => void }) {
  const { state } = talk;
  const isOpen = talk.isStarting || (state !== undefined && state.phase !== 'ended');
  return (
    <>
      <div class="actions">
        {isOpen ? (
          <>
            {talk.isStarting ? null : (
              <button type="button" class="button" aria-pressed={talk.isMuted} onClick={() => talk.mute(!talk.isMuted)}>
                {talk.isMuted ? 'Unmute' : 'Mute'}
              </button>
            )}
            <button type="button" class="button button-bad" onClick={talk.end}>
              <Icon name="hangUp" /> Hang up
            </button>
          </>
        ) : (
          <button type="button" class="button button-main" onClick={onStart}>
            <Icon name="microphone" /> {state === undefined ? 'Start talking' : 'Talk again'}
          </button>
        )}
        <span role="status">{connectionLabel(talk.isStarting, state)}</span>
      </div>
      {isOpen && talk.microphone !== undefined && talk.microphone !== 'on' ? (
        <p class="notice">{MICROPHONE_HINTS[talk.microphone]}</p>
      ) : null}
      <div role="status">{talk.isNoisy ? <p class="notice">{NOISE_HINT}</p> : null}</div>
    </>
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
