/** Progress of a watcher of a call. Times in ms since the epoch. */
export interface WatchProgress {
  /** The last view sent, as JSON. */
  sent: string;
  /** The last state of the conversation sent, as JSON. */
  sentConversation?: string;
  wroteAt: number;
  /** When the stream ends. */
  endAt: number;
}

/** One read of the call. */
export interface CallSnapshot {
  /** The call's view, as JSON. */
  view: string;
  /** The last turns and the extracted values of a call in progress, as JSON. */
  conversation?: string;
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
  const [written, text] = write(watch, snapshot, now);
  return [{ ...written, endAt: snapshot.isFinal ? Math.min(watch.endAt, now + AFTER_END_MS) : watch.endAt }, text];
}

function write(
  watch: WatchProgress,
  { view, conversation }: CallSnapshot,
  now: number,
): [WatchProgress, string | undefined] {
  const ofCall = view === watch.sent ? '' : `event: call\ndata: ${view}\n\n`;
  const isNew = conversation !== undefined && conversation !== watch.sentConversation;
  const ofConversation = isNew ? `event: conversation\ndata: ${conversation}\n\n` : '';
  if (ofCall !== '' || isNew) {
    const sent = { ...watch, sent: view, wroteAt: now, ...(isNew ? { sentConversation: conversation } : {}) };
    return [sent, ofCall + ofConversation];
  }
  if (now - watch.wroteAt > COMMENT_EVERY_MS) return [{ ...watch, wroteAt: now }, ': keep-alive\n\n'];
  return [watch, undefined];
}
