import { useEffect, useRef } from 'preact/hooks';
import type { CallSummary } from '../../calls/views/schemas.js';
import { isFinalStatus } from '../../kernel/call-state.js';

const LIVE_EVERY_MS = 3_000;

/**
 * Reloads data every three seconds while one of its calls is in progress. The summary and the webhook arrive after the
 * end of a call, so it is reloaded once more then.
 * @param onEnd is called instead of `reload` after the end
 */
export function useLiveReload(
  calls: readonly CallSummary[] | undefined,
  reload: () => void,
  onEnd: () => void = reload,
): void {
  const isLive = calls?.some(({ status }) => !isFinalStatus(status)) ?? false;
  const wasLive = useRef(false);
  const latest = useRef({ reload, onEnd });
  latest.current = { reload, onEnd };
  useEffect(() => {
    if (isLive) {
      wasLive.current = true;
      const timer = setInterval(() => latest.current.reload(), LIVE_EVERY_MS);
      return () => clearInterval(timer);
    }
    if (!wasLive.current) return undefined;
    wasLive.current = false;
    const timer = setTimeout(() => latest.current.onEnd(), LIVE_EVERY_MS);
    return () => clearTimeout(timer);
  }, [isLive]);
}

/** Reloads data when the user returns to the page, for example from a terminal in which they placed a call. */
export function useReloadOnReturn(reload: () => void): void {
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    const onReturn = () => latest.current();
    addEventListener('focus', onReturn);
    return () => removeEventListener('focus', onReturn);
  }, []);
}
