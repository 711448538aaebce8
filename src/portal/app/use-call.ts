import { useEffect, useState } from 'preact/hooks';
import type { Call } from '../../contract/management/calls.js';
import type { Api, Mode } from './api';
import type { Loading } from './use-data';

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
    api.get<Call>(`/calls/${callId}`, {}, controller.signal).then(
      (call) => {
        if (controller.signal.aborted) return;
        setLoading({ state: 'ready', data: call });
        if (isFinal(call)) return;
        // An event source sends no headers, so the mode goes with the address.
        events = new EventSource(`/calls/${callId}/events?mode=${mode}`);
        events.addEventListener('call', (event: MessageEvent<string>) => {
          const next = JSON.parse(event.data) as Call;
          setLoading({ state: 'ready', data: next });
          if (isFinal(next)) events?.close();
        });
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setLoading({ state: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
      },
    );
    return () => {
      controller.abort();
      events?.close();
    };
  }, [callId, mode, turn]);

  return { ...loading, reload: () => setTurn((before) => before + 1) };
}

export function isFinal(call: Pick<Call, 'status'>): boolean {
  return ['COMPLETED', 'FAILED', 'CANCELLED'].includes(call.status);
}
