import { useEffect, useState } from 'preact/hooks';
import type { Call, ConversationSoFar } from '../../calls/views/schemas.js';
import { isFinalStatus } from '../../kernel/call-state.js';
import type { Api, Mode } from './api';
import type { Loading } from './use-data';

/** Maximum attempts of a delivery. The last attempt starts at most 51 s after the end of the call. */
const ATTEMPTS = 4;
const SETTLE_EVERY_MS = 2_000;
const SETTLE_READS = 45;

/**
 * Loads a call and updates it by server-sent events until it is final. After a lost connection, the browser reconnects
 * automatically.
 */
export function useCall(
  api: Api,
  mode: Mode,
  callId: string,
): Loading<Call> & { reload: () => void; conversation: ConversationSoFar | undefined } {
  const [loading, setLoading] = useState<Loading<Call>>({ state: 'loading' });
  const [conversation, setConversation] = useState<ConversationSoFar>();
  const [turn, setTurn] = useState(0);

  useEffect(() => {
    const controller = new AbortController();
    let events: EventSource | undefined;
    let settling: ReturnType<typeof setTimeout> | undefined;
    let settleReads = 0;

    function read(): void {
      api.get<Call>(`/calls/${callId}`, {}, controller.signal).then(show, (error: unknown) => {
        if (controller.signal.aborted) return;
        setLoading({ state: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
      });
    }

    function show(call: Call): void {
      if (controller.signal.aborted) return;
      setLoading({ state: 'ready', data: call });
      if (!isFinalStatus(call.status)) return watch();
      events?.close();
      if (!isSettled(call) && settleReads++ < SETTLE_READS) settling = setTimeout(read, SETTLE_EVERY_MS);
    }

    function open(): EventSource {
      // `EventSource` cannot send headers, so the query contains the mode.
      const opened = new EventSource(`/calls/${callId}/events?mode=${mode}`);
      // The service ended the stream because the session may no longer watch the call. Reading the call again shows
      // why.
      opened.addEventListener('end', () => {
        opened.close();
        events = undefined;
        settling = setTimeout(read, SETTLE_EVERY_MS);
      });
      opened.addEventListener('conversation', (event: MessageEvent<string>) => {
        const latest = JSON.parse(event.data) as ConversationSoFar;
        setConversation((before) => ({ ...latest, turns: joinTurns(before?.turns ?? [], latest.turns) }));
      });
      return opened;
    }

    function watch(): void {
      events ??= open();
      events.addEventListener('call', (event: MessageEvent<string>) => show(JSON.parse(event.data) as Call), {
        once: true,
      });
    }

    setConversation(undefined);
    read();
    return () => {
      controller.abort();
      clearTimeout(settling);
      events?.close();
    };
  }, [callId, mode, turn]);

  return { ...loading, conversation, reload: () => setTurn((before) => before + 1) };
}

/** Adds the latest turns to earlier ones, which may contain some of them in an older state. */
export function joinTurns(earlier: ConversationSoFar['turns'], latest: ConversationSoFar['turns']) {
  const [first] = latest;
  return first === undefined ? earlier : [...earlier.filter(({ start_ms }) => start_ms < first.start_ms), ...latest];
}

/** Whether no more changes are expected. The summary and the webhook attempts arrive after the final status. */
function isSettled(call: Call): boolean {
  const last = call.webhook_attempts.at(-1);
  const isTold = call.webhook_url === undefined || last?.outcome === 'delivered' || (last?.number ?? 0) >= ATTEMPTS;
  return call.summary !== undefined && isTold;
}
