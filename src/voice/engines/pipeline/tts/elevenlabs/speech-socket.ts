import { openProviderSocket } from '../../provider-socket.js';
import type { ProviderError } from '../../ports.js';
import { multiContextAnswer, type MultiContextAnswer, type MultiContextMessage } from './messages.js';

/** The contexts that a socket may have: https://elevenlabs.io/docs/eleven-api/guides/how-to/websockets/multi-context-web-socket */
const MAX_CONTEXTS = 5;
/** The latest text of the call that a report of a failure must not quote, in characters. */
const MAX_SENT = 20_000;

/** A context, which speaks one utterance. */
export interface SpeechContext {
  id: string;
  read(answer: MultiContextAnswer): void;
  /** @param isCut whether only the connection broke, so that another one may work */
  lost(error: ProviderError, isCut: boolean): void;
}

export type SpeechSocket = ReturnType<typeof openSpeechSocket>;

/** Opens a socket to `multi-stream-input`. Without contexts that wait for audio, its loss is no failure. */
export function openSpeechSocket({ url, apiKey }: { url: string; apiKey: string }) {
  /** Contexts that wait for messages. */
  const live = new Map<string, SpeechContext>();
  /**
   * Contexts that count at the provider: from their first message to its final one, even if they were closed before
   * (pipecat-ai/pipecat issue 5601).
   */
  const counted = new Set<string>();
  let isRetired = false;
  let isOver = false;
  let sent = '';
  const socket = openProviderSocket({
    part: 'voice',
    provider: 'elevenlabs',
    apiKey,
    sentText: () => sent,
    url,
    headers: { 'xi-api-key': apiKey },
    onMessage: read,
    onLost: lose,
  });
  const send = (message: MultiContextMessage) => socket.send(message);

  function read(message: Record<string, unknown>): void {
    if ((message['error'] ?? message['code'] ?? undefined) !== undefined) return fail(socket.reportedError(message));
    const parsed = multiContextAnswer.safeParse(message);
    if (!parsed.success) return fail(socket.errorOf('sent an invalid message'));
    const answer = parsed.data;
    // The types of the SDK allow an answer without an id. It is clear if there is one context only.
    const id = answer.contextId ?? (counted.size === 1 ? [...counted][0] : undefined);
    if (id === undefined) return;
    if (answer.isFinal === true) counted.delete(id);
    live.get(id)?.read(answer);
  }

  function fail(error: ProviderError): void {
    socket.close();
    lose(error, false);
  }

  function lose(error: ProviderError, isCut: boolean): void {
    isOver = true;
    const all = [...live.values()];
    live.clear();
    for (const context of all) context.lost(error, isCut);
  }

  function close(): void {
    if (isOver) return;
    isOver = true;
    socket.close({ close_socket: true } satisfies MultiContextMessage);
  }

  function closeIfUnused(): void {
    if (isRetired && live.size === 0) close();
  }

  return {
    /** Whether it can have one more context. */
    hasRoom: () => !isOver && !isRetired && new Set([...counted, ...live.keys()]).size < MAX_CONTEXTS,
    add: (context: SpeechContext) => void live.set(context.id, context),
    /** Says the first text of a context, or another one. */
    say(id: string, text: string, speed: number | undefined): void {
      const settings = speed === undefined ? {} : { voice_settings: { speed } };
      if (!counted.has(id)) send({ text: ' ', context_id: id, ...settings });
      counted.add(id);
      sent = (sent + text).slice(-MAX_SENT);
      send({ text, context_id: id, flush: true });
    },
    /**
     * Asks for the final message of a context, which follows the audio of all its text. A context that never had text is
     * unknown to the provider; a message about it would create it (pipecat-ai/pipecat pull request 4126).
     */
    closeContext(id: string): void {
      if (counted.has(id)) send({ context_id: id, close_context: true });
    },
    /** Ignores further messages of a context. */
    remove(id: string): void {
      live.delete(id);
      closeIfUnused();
    },
    /** Accepts no more contexts, and closes when the present ones have ended. */
    retire(): void {
      isRetired = true;
      closeIfUnused();
    },
    close,
    errorOf: (fault: string) => socket.errorOf(fault),
  };
}
