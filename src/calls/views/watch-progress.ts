/** Progress of a watcher of a call. Times in ms since the epoch. */
export interface WatchProgress {
  /** The last view sent, as JSON. */
  sent: string;
  wroteAt: number;
  /** When the stream ends. */
  endAt: number;
}

/** One read of the call. */
export interface CallSnapshot {
  /** The call's view, as JSON. */
  view: string;
  isFinal: boolean;
}

/** Interval between comments in the stream, which keep proxies from closing an idle connection. */
const COMMENT_EVERY_MS = 15_000;
/** Maximum duration of a stream. Browsers reconnect automatically. */
const WATCH_MS = 300_000;
/** How long the stream continues after the call's end, to show the first webhook attempt and late callbacks. */
const AFTER_END_MS = 3_000;

export function beginWatch(now: number): WatchProgress {
  return { sent: '', wroteAt: now, endAt: now + WATCH_MS };
}

/**
 * Processes one read of the call.
 * @param now ms since the epoch
 * @returns the new progress, and the text to write to the event stream, if any
 */
export function advanceWatch(
  watch: WatchProgress,
  snapshot: CallSnapshot,
  now: number,
): [WatchProgress, string | undefined] {
  const [written, text] = write(watch, snapshot.view, now);
  return [{ ...written, endAt: snapshot.isFinal ? Math.min(watch.endAt, now + AFTER_END_MS) : watch.endAt }, text];
}

function write(watch: WatchProgress, view: string, now: number): [WatchProgress, string | undefined] {
  if (view !== watch.sent) return [{ ...watch, sent: view, wroteAt: now }, `event: call\ndata: ${view}\n\n`];
  if (now - watch.wroteAt > COMMENT_EVERY_MS) return [{ ...watch, wroteAt: now }, ': keep-alive\n\n'];
  return [watch, undefined];
}
