import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, isUnreachable } from './api';
import { useWhenConnected } from './shell/connection';

export type Loading<T> =
  | { state: 'loading'; data?: T }
  | { state: 'failed'; error: Error; data?: T }
  | { state: 'ready'; data: T };

/** Returns the error for something that does not exist, or not in this mode; otherwise undefined. */
export function notFoundError<T>(loading: Loading<T>): Error | undefined {
  const error = loading.state === 'failed' ? loading.error : undefined;
  return error instanceof ApiError && error.status === 404 ? error : undefined;
}

/**
 * Loads data on mount and whenever `key` changes, and aborts outdated requests. During a reload with the same key, the
 * current data stays visible.
 */
export function useData<T>(key: string, load: (signal: AbortSignal) => Promise<T>) {
  const [loading, setLoading] = useState<Loading<T>>({ state: 'loading' });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const shownKey = useRef(key);

  useEffect(() => {
    const controller = new AbortController();
    const keeps = shownKey.current === key;
    shownKey.current = key;
    setLoading((before) =>
      keeps && before.data !== undefined ? { ...before, state: 'ready', data: before.data } : { state: 'loading' },
    );
    latest.current(controller.signal).then(
      (data) => controller.signal.aborted || setLoading({ state: 'ready', data }),
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setLoading({ state: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
      },
    );
    return () => controller.abort();
  }, [key, turn]);

  useWhenConnected(() => {
    if (loading.state === 'failed' && isUnreachable(loading.error)) setTurn((before) => before + 1);
  });

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...loading, reload };
}
