import { createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';

/** How often a lost connection is tried again. */
const PROBE_EVERY_MS = 3_000;
const PROBE_TIMEOUT_MS = 5_000;

export type Connection = ReturnType<typeof createConnection>;

/**
 * Knows whether the service can be reached. While it cannot, tries again until it can.
 * @param changed receives true when the connection is lost and false when it is back
 */
export function createConnection(changed: (isLost: boolean) => void) {
  let isLost = false;
  let probing: ReturnType<typeof setTimeout> | undefined;

  function settle(isReachable: boolean): void {
    if (isReachable) {
      clearTimeout(probing);
      probing = undefined;
    } else probing ??= setTimeout(() => void probe(), PROBE_EVERY_MS);
    if (isLost === !isReachable) return;
    isLost = !isReachable;
    changed(isLost);
  }

  function probe(): Promise<void> {
    clearTimeout(probing);
    probing = undefined;
    return fetch('/health/live', { cache: 'no-store', signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).then(
      () => settle(true),
      () => settle(false),
    );
  }

  /** A response may have been on its way when the connection was lost, so only a new request shows that it is back. */
  function report(isReachable: boolean): void {
    if (isReachable && isLost) void probe();
    else settle(isReachable);
  }

  const onOffline = () => report(false);
  const onOnline = () => void probe();

  return {
    /** Reports whether a request reached the service. */
    report,
    /** Listens to the browser's own news of the network. @returns stops this */
    watch(): () => void {
      addEventListener('offline', onOffline);
      addEventListener('online', onOnline);
      return () => {
        removeEventListener('offline', onOffline);
        removeEventListener('online', onOnline);
        clearTimeout(probing);
      };
    },
  };
}

/** Whether the connection to the service is lost. */
export const ConnectionLostContext = createContext(false);

/** Calls `action` each time the connection to the service is back. */
export function useWhenConnected(action: () => void): void {
  const isLost = useContext(ConnectionLostContext);
  const wasLost = useRef(isLost);
  useEffect(() => {
    if (wasLost.current && !isLost) action();
    wasLost.current = isLost;
  }, [isLost]);
}

export function ConnectionNotice() {
  const isLost = useContext(ConnectionLostContext);
  return (
    <div role="status" class={isLost ? 'connection-lost' : ''}>
      {isLost
        ? 'No connection to the service. Your input stays here; this page continues when the connection is back.'
        : ''}
    </div>
  );
}
