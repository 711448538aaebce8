import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../platform/config/config.js';
import { ServiceError } from '../../kernel/errors.js';
import type { CallQueries } from '../call-queries.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { RouteHandlers } from '../../identity/access/principal.js';
import { content } from '../../platform/http/routing/answer.js';
import type { callRoutes } from './contract.js';
import { deadlineOf, within } from '../../platform/http/deadline.js';
import { endEvents } from '../../identity/access/principal-watch.js';
import { findCall } from '../placing/call-status.js';
import { createCallLooks, type SharedLook } from './call-looks.js';
import type { ReadCall } from './calls.js';
import { advanceWatch, beginWatch } from './watch-progress.js';
import { createWatcherCounts } from './watcher-counts.js';

const LOOK_EVERY_MS = 500;

/** GET /calls/{call_id}/events: the call at each change, as server-sent events. */
export function createWatchCall(deps: {
  config: Config;
  queries: CallQueries;
  readCall: ReadCall;
  logger: Logger;
}): RouteHandlers<typeof callRoutes>['watchCall'] {
  const { queries, logger } = deps;
  const watchers = createWatcherCounts();
  const looks = createCallLooks(deps);

  return async ({ ctx, principal, params: { call_id: callId } }) => {
    await within(deadlineOf(ctx), findCall(queries, principal, callId));
    // Test keys take no place from live ones.
    const leave = watchers.enter(`${principal.account._id} ${principal.mode}`);
    const stream = new PassThrough();
    const closed = new AbortController();
    stream.once('close', () => {
      closed.abort();
      leave();
    });
    writeChanges(() => looks.look(principal, callId), stream, closed.signal).catch((error: unknown) => {
      // A watcher asks again and gets the error then.
      if (closed.signal.aborted) return;
      if (error instanceof ServiceError) return endEvents(stream, error);
      logger.warn({ callId, err: error }, 'a call could not be watched any longer');
      stream.destroy();
    });
    return content('text/event-stream', stream, { headers: { 'X-Accel-Buffering': 'no' } });
  };
}

async function writeChanges(look: () => Promise<SharedLook>, stream: PassThrough, closed: AbortSignal): Promise<void> {
  let watch = beginWatch(Date.now());
  let text: string | undefined;
  while (!closed.aborted && Date.now() < watch.endAt) {
    // A watcher that reads slowly is sent the latest state when it has read the one before.
    if (!stream.writableNeedDrain) {
      const seen = await look();
      // The right to watch may have ended meanwhile.
      if (stream.writableEnded) return;
      [watch, text] = advanceWatch(watch, seen, Date.now());
      if (text !== undefined) stream.write(text);
      // Nothing will change any more.
      if (seen.isErased) break;
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal: closed }).catch(() => undefined);
  }
  stream.end();
}
