import { useState } from 'preact/hooks';

/**
 * Runs the requests of buttons, and keeps the message of one that failed until the next one.
 * @param onDone receives the response of a request that succeeded
 */
export function useAction<T = unknown>(onDone: (response: T) => void) {
  const [failure, setFailure] = useState<string>();
  function act(doing: Promise<T>): Promise<void> {
    setFailure(undefined);
    return doing.then(onDone, (error: Error) => setFailure(error.message));
  }
  return { failure, act };
}
