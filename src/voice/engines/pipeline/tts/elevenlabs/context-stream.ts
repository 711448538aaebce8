import { SilentProviderError, type ProviderError, type TtsEvents, type TtsStream } from '../../ports.js';
import type { MultiContextAnswer } from './messages.js';
import type { SpeechContext, SpeechSocket } from './speech-socket.js';

interface ContextDeps {
  /** Identifies the context on its socket. */
  id: string;
  /** Returns a socket that has room for the context. */
  socket(): SpeechSocket;
  /** The speed of speech, if the agent has one. */
  speed: number | undefined;
  /** How long the provider may send no audio after it received text, in ms. */
  timeoutMs: number;
  events: TtsEvents;
}

/**
 * Speaks one utterance in a context of a socket. The final message of a context comes only after it was closed
 * (bolna-ai/bolna pull request 790). A context that is closed before its first audio may lose its text
 * (pipecat-ai/pipecat issue 4681), so it is closed at the first audio after its last text.
 */
export function openContextStream(p: ContextDeps): TtsStream {
  const { id, events } = p;
  let socket = p.socket();
  let over = false;
  let finished = false;
  let closed = false;
  /** Whether audio came after the last text. */
  let hasAudio = false;
  let hasMoved = false;
  let waiting: NodeJS.Timeout | undefined;
  const text = createSpokenText();
  const context: SpeechContext = { id, read, lost };
  socket.add(context);

  function read({ audio, isFinal, alignment, normalizedAlignment }: MultiContextAnswer): void {
    if (over) return;
    if (audio) {
      hasAudio = true;
      // Before `finish`, the next text may take long to arrive, so stop the timeout.
      if (finished) expectAudio();
      else clearTimeout(waiting);
      events.onAudio(Buffer.from(audio, 'base64'));
      // Either form of the words may be missing, and both are about equally long.
      const words = text.spoken(alignment?.chars, normalizedAlignment?.chars);
      if (words !== '') events.onSpoken(words);
      closeIfFinished();
    }
    if (isFinal === true) done();
  }

  function closeIfFinished(): void {
    if (!finished || closed || !hasAudio) return;
    closed = true;
    socket.closeContext(id);
  }

  function expectAudio(): void {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      // The socket may be the cause, so the next attempt has another one.
      socket.retire();
      const fault = `sent nothing for ${p.timeoutMs} ms`;
      // Also after some audio, which may be that of an earlier text.
      giveUp(new SilentProviderError('voice', fault, undefined, false, socket.errorOf(fault).report));
    }, p.timeoutMs);
  }

  function lost(error: ProviderError, isCut: boolean): void {
    if (over) return;
    const rest = text.rest();
    if (!isCut || hasMoved || rest === undefined) return giveUp(error);
    hasMoved = true;
    events.onReconnected?.(error, rest);
    socket = p.socket();
    socket.add(context);
    closed = false;
    hasAudio = false;
    if (rest !== '') say(rest);
    else if (finished) done();
  }

  function say(words: string): void {
    hasAudio = false;
    expectAudio();
    socket.say(id, words, p.speed);
  }

  function done(): void {
    if (over) return;
    leave();
    events.onDone();
  }

  function giveUp(error: ProviderError): void {
    leave();
    events.onLost(error);
  }

  function leave(): void {
    over = true;
    clearTimeout(waiting);
    socket.remove(id);
  }

  return {
    say(words) {
      if (over) return;
      text.said(`${words} `);
      say(`${words} `);
    },
    finish() {
      if (over) return;
      finished = true;
      // A context without text is unknown to the provider.
      if (text.isEmpty()) return queueMicrotask(done);
      expectAudio();
      closeIfFinished();
    },
    cancel() {
      if (over) return;
      if (!closed) socket.closeContext(id);
      leave();
    },
  };
}

/** The text of an utterance, and how much of it the audio contains. */
function createSpokenText() {
  let said = '';
  let spoken = 0;
  /** Characters that are spoken again, because the connection broke within their word. */
  let again = 0;
  let isExact = true;
  return {
    isEmpty: () => said === '',
    said: (text: string) => void (said += text),
    /** @returns the new words in a piece of audio */
    spoken(sent: string[] | null | undefined, normalized: string[] | null | undefined): string {
      isExact &&= Array.isArray(sent);
      const words = (sent ?? normalized ?? []).join('');
      const fresh = words.slice(again);
      again = Math.max(0, again - words.length);
      spoken += fresh.length;
      return fresh;
    },
    /** The text whose audio is missing, from the start of a word; undefined if it is not known. */
    rest(): string | undefined {
      if (!isExact) return undefined;
      const wordAt = said.lastIndexOf(' ', spoken - 1) + 1;
      again = spoken - wordAt;
      return said.slice(wordAt);
    },
  };
}
