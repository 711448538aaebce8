/** What a watcher of a call has received so far. Times in ms since the epoch. */
export interface WatchProgress {
  /** The last view sent, as JSON. */
  sent: string;
  wroteAt: number;
  /** When the stream ends. */
  endAt: number;
}

/** One read of the call. */
export interface CallLook {
  /** The call's view, as JSON. */
  view: string;
  isFinal: boolean;
}

/** Interval of comments that keep proxies from closing an idle stream. */
const COMMENT_EVERY_MS = 15_000;
/** Longest duration of a stream. Browsers reconnect by themselves. */
const WATCH_MS = 300_000;
/** How long the stream goes on after the call's end, to show the first webhook attempt and late callbacks. */
const AFTER_END_MS = 3_000;

export function beginWatch(now: number): WatchProgress {
  return { sent: '', wroteAt: now, endAt: now + WATCH_MS };
}

/**
 * Takes one read of the call into account.
 * @param now ms since the epoch
 * @returns the new progress, and the text to write to the event stream, if any
 */
export function advanceWatch(watch: WatchProgress, look: CallLook, now: number): [WatchProgress, string | undefined] {
  const [written, text] = write(watch, look.view, now);
  return [{ ...written, endAt: look.isFinal ? Math.min(watch.endAt, now + AFTER_END_MS) : watch.endAt }, text];
}

function write(watch: WatchProgress, view: string, now: number): [WatchProgress, string | undefined] {
  if (view !== watch.sent) return [{ ...watch, sent: view, wroteAt: now }, `event: call\ndata: ${view}\n\n`];
  if (now - watch.wroteAt > COMMENT_EVERY_MS) return [{ ...watch, wroteAt: now }, ': still here\n\n'];
  return [watch, undefined];
}
