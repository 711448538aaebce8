import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../platform/config/config.js';
import { ServiceError } from '../../kernel/errors.js';
import type { CallQueries } from '../call-queries.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { RouteHandlers } from '../../identity/access/principal.js';
import { content } from '../../platform/http/routing/response.js';
import type { callRoutes } from './contract.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import { endEvents } from '../../identity/access/principal-watch.js';
import { findCall } from '../placing/call-status.js';
import { createSharedCallReads, type SharedCallSnapshot } from './shared-call-reads.js';
import type { LiveWords } from '../../voice/live-words/live-words.js';
import type { CallReading } from './call-reading.js';
import { advanceWatch, beginWatch } from './watch-progress.js';
import { createWatcherCounts } from './watcher-counts.js';

const POLL_INTERVAL_MS = 500;

/** Handler of GET /calls/{call_id}/events, which sends the call at each change as a server-sent event. */
export function createWatchCall(deps: {
  config: Config;
  queries: CallQueries;
  reading: CallReading;
  liveWords: LiveWords;
  logger: Logger;
  /** How long a read may wait for those of other calls. */
  waitTimeoutMs?: number;
}): RouteHandlers<typeof callRoutes>['watchCall'] {
  const { queries, logger } = deps;
  const watchers = createWatcherCounts();
  const reads = createSharedCallReads(deps);

  return async ({ ctx, principal, params: { call_id: callId } }) => {
    await withDeadline(deadlineOf(ctx), findCall(queries, principal, callId));
    // Watchers are counted per mode, so that test keys do not use up the limit of live ones.
    const release = watchers.enter(`${principal.account._id} ${principal.mode}`, principal.sender);
    const stream = new PassThrough();
    const closed = new AbortController();
    stream.once('close', () => {
      closed.abort();
      release();
    });
    writeChanges(() => reads.read(principal, callId), stream, closed.signal).catch((error: unknown) => {
      // The watcher reconnects after an error and then receives the error as a response.
      if (closed.signal.aborted) return;
      if (error instanceof ServiceError) return endEvents(stream, error, ctx.state);
      logger.warn({ callId, err: error }, 'call event stream failed');
      stream.destroy();
    });
    return content('text/event-stream', stream, { headers: { 'X-Accel-Buffering': 'no' } });
  };
}

async function writeChanges(
  read: () => Promise<SharedCallSnapshot>,
  stream: PassThrough,
  closed: AbortSignal,
): Promise<void> {
  let watch = beginWatch(Date.now());
  let text: string | undefined;
  let last: SharedCallSnapshot | undefined;
  /** Keeps the last state if the call cannot be read now, because too many others are. The next poll tries again. */
  const keepLast = (error: unknown): SharedCallSnapshot => {
    if (last !== undefined && error instanceof ServiceError && error.code === 'SERVICE_UNAVAILABLE') return last;
    throw error;
  };
  while (!closed.aborted && Date.now() < watch.endAt) {
    // A client that reads slowly receives only the latest state, after it has read the previous one.
    if (!stream.writableNeedDrain) {
      const snapshot = (last = await read().catch(keepLast));
      // The stream may have been ended meanwhile, for example because the key was revoked.
      if (stream.writableEnded) return;
      [watch, text] = advanceWatch(watch, snapshot, Date.now());
      if (text !== undefined) stream.write(text);
      // An erased call never changes again.
      if (snapshot.isErased) break;
    }
    await sleep(POLL_INTERVAL_MS, undefined, { signal: closed }).catch(() => undefined);
  }
  stream.end();
}
