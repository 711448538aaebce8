import { useEffect, useState } from 'preact/hooks';
import type { Call } from '../../calls/views/schemas.js';
import { isFinalStatus } from '../../kernel/call-state.js';
import type { Api, Mode } from './api';
import type { Loading } from './use-data';

/** A delivery has four attempts, the last some 51 s after the end. */
const ATTEMPTS = 4;
const SETTLE_EVERY_MS = 2_000;
const SETTLE_READS = 45;

/**
 * A call as it is now: read once, then told by server-sent events until it is final. The browser connects again by
 * itself when the connection breaks.
 */
export function useCall(api: Api, mode: Mode, callId: string): Loading<Call> & { reload: () => void } {
  const [loading, setLoading] = useState<Loading<Call>>({ state: 'loading' });
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
      // An event source sends no headers, so the mode goes with the address.
      const opened = new EventSource(`/calls/${callId}/events?mode=${mode}`);
      // The service says that this session may not watch any longer; reading once more shows why.
      opened.addEventListener('end', () => {
        opened.close();
        events = undefined;
        settling = setTimeout(read, SETTLE_EVERY_MS);
      });
      return opened;
    }

    function watch(): void {
      events ??= open();
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
  }, [callId, mode, turn]);

  return { ...loading, reload: () => setTurn((before) => before + 1) };
}

/** After the final status the talk's result and the webhook still come in; then nothing changes any more. */
function isSettled(call: Call): boolean {
  const last = call.webhook_attempts.at(-1);
  const isTold = call.webhook_url === undefined || last?.outcome === 'delivered' || (last?.number ?? 0) >= ATTEMPTS;
  return call.summary !== undefined && isTold;
}
