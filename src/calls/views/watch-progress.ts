/** How far a watcher of a call has been served. Times are milliseconds since the epoch. */
export interface WatchProgress {
  /** The view that was written last, as JSON. */
  sent: string;
  wroteAt: number;
  /** The stream ends then. */
  endAt: number;
}

/** What one look at the call shows. */
export interface CallLook {
  /** As JSON. */
  view: string;
  isFinal: boolean;
}

/** A comment this often keeps proxies from taking the stream for dead. */
const COMMENT_EVERY_MS = 15_000;
/** Browsers ask again by themselves. */
const WATCH_MS = 300_000;
/** The webhook's first attempt and late callbacks follow the end closely; a watcher sees them, too. */
const AFTER_END_MS = 3_000;

export function beginWatch(now: number): WatchProgress {
  return { sent: '', wroteAt: now, endAt: now + WATCH_MS };
}

/**
 * What a look at the call adds to the stream of server-sent events.
 * @param now milliseconds since the epoch
 * @returns the text to write, if any; the stream ends when `endAt` has come
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
