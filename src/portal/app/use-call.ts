import { useEffect, useState } from 'preact/hooks';
import type { Call, ConversationSoFar } from '../../calls/views/schemas.js';
import { isFinalStatus } from '../../kernel/call-state.js';
import { isUnreachable, type Api, type Mode } from './api';
import { useWhenConnected } from './shell/connection';
import { joinTurns } from './components/call/join-turns';
import type { Loading } from './use-data';

/** Maximum attempts of a delivery. The last attempt starts at most 51 s after the end of the call. */
const ATTEMPTS = 4;
const SETTLE_EVERY_MS = 2_000;
const SETTLE_READS = 45;

/**
 * Loads a call and updates it by server-sent events until it is final. After a lost connection, what is known stays and
 * the stream is opened again.
 */
export function useCall(
  api: Api,
  mode: Mode,
  callId: string,
): Loading<Call> & { reload: () => void; conversation: ConversationSoFar | undefined } {
  const [loading, setLoading] = useState<Loading<Call>>({ state: 'loading' });
  const [conversation, setConversation] = useState<ConversationSoFar>();
  const [turn, setTurn] = useState(0);
  const reload = () => setTurn((before) => before + 1);
  useWhenConnected(reload);
  useEffect(() => setConversation(undefined), [callId, mode]);

  useEffect(
    () =>
      followCall({
        api,
        mode,
        callId,
        onCall: (call) => setLoading({ state: 'ready', data: call }),
        onFailure(error) {
          if (isUnreachable(error)) setLoading((before) => (before.data === undefined ? failed(error) : before));
          else setLoading(failed(error));
        },
        onConversation: (latest) =>
          setConversation((before) => ({ ...latest, turns: joinTurns(before?.turns ?? [], latest.turns) })),
      }),
    [callId, mode, turn],
  );

  return { ...loading, conversation, reload };
}

interface Following {
  api: Api;
  mode: Mode;
  callId: string;
  onCall: (call: Call) => void;
  onFailure: (error: unknown) => void;
  onConversation: (latest: ConversationSoFar) => void;
}

/** Reads a call, and watches it until it is final and settled. @returns a function that ends this */
function followCall(p: Following): () => void {
  const { api, callId } = p;
  const controller = new AbortController();
  let events: EventSource | undefined;
  let settling: ReturnType<typeof setTimeout> | undefined;
  let settleReads = 0;

  function read(): void {
    api.get<Call>(`/calls/${encodeURIComponent(callId)}`, {}, controller.signal).then(show, (error: unknown) => {
      if (!controller.signal.aborted) p.onFailure(error);
    });
  }

  function readSoon(): void {
    settling = setTimeout(read, SETTLE_EVERY_MS);
  }

  function show(call: Call): void {
    if (controller.signal.aborted) return;
    p.onCall(call);
    if (!isFinalStatus(call.status)) return watch();
    events?.close();
    if (!isSettled(call) && settleReads++ < SETTLE_READS) readSoon();
  }

  function watch(): void {
    events ??= openEvents(p, () => {
      events = undefined;
      readSoon();
    });
    events.addEventListener('call', (event: MessageEvent<string>) => show(JSON.parse(event.data) as Call), {
      once: true,
    });
  }

  read();
  return () => {
    controller.abort();
    clearTimeout(settling);
    events?.close();
  };
}

/** Opens the stream of a call's events. @param onEnd called when it has ended for good */
function openEvents({ api, mode, callId, onConversation }: Following, onEnd: () => void): EventSource {
  // `EventSource` cannot send headers, so the query contains the mode.
  const events = new EventSource(`/calls/${encodeURIComponent(callId)}/events?mode=${mode}`);
  // The service ended the stream because the session may no longer watch the call. Reading the call again shows why.
  events.addEventListener('end', () => {
    events.close();
    onEnd();
  });
  // The browser reconnects by itself, but not after a response that is no stream, such as that of a proxy.
  events.addEventListener('error', () => {
    // Finds out, and shows, whether the connection is lost.
    void api.get('/health/live').catch(() => undefined);
    if (events.readyState === EventSource.CLOSED) onEnd();
  });
  events.addEventListener('conversation', (event: MessageEvent<string>) =>
    onConversation(JSON.parse(event.data) as ConversationSoFar),
  );
  return events;
}

function failed(error: unknown): Loading<Call> {
  return { state: 'failed', error: error instanceof Error ? error : new Error(String(error)) };
}

/** Whether no more changes are expected. The summary and the webhook attempts arrive after the final status. */
function isSettled(call: Call): boolean {
  const last = call.webhook_attempts.at(-1);
  const isTold = call.webhook_url === undefined || last?.outcome === 'delivered' || (last?.number ?? 0) >= ATTEMPTS;
  return call.summary !== undefined && isTold;
}
