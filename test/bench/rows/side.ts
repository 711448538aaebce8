import { setTimeout as sleep } from 'node:timers/promises';
import { Unavailable } from '../stack/service.js';

/** The service or the bare baseline, as a caller uses them. */
export interface Side {
  /** Starts a call. Resolves with its id at the moment when a client gets the response. */
  place(): Promise<string>;
  inbox: { received(callId: string): Promise<void> };
}

/** The pause before a rejected request is repeated. */
const REPEAT_AFTER_MS = 250;
const MOST_ATTEMPTS = 40;

/** Places a call. Repeats the request if it is rejected with 503, and calls `onRejected` each time. */
export async function placeUntilAccepted(
  place: () => Promise<string>,
  onRejected: () => void = () => undefined,
): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await place();
    } catch (error) {
      if (!(error instanceof Unavailable) || attempt === MOST_ATTEMPTS) throw error;
      onRejected();
      await sleep(REPEAT_AFTER_MS);
    }
  }
}

/** Does something a number of times, with several at the same time. */
export async function inParallel(times: number, atOnce: number, act: () => Promise<unknown>): Promise<void> {
  let left = times;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      await act();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

export async function repeat(times: number, act: () => Promise<unknown>): Promise<void> {
  await inParallel(times, 1, act);
}
