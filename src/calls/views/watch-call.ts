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

/** GET /calls/{call_id}/events: sends the call at each change, as server-sent events. */
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
    // Counted per mode, so that test keys do not use up the limit of live ones.
    const leave = watchers.enter(`${principal.account._id} ${principal.mode}`);
    const stream = new PassThrough();
    const closed = new AbortController();
    stream.once('close', () => {
      closed.abort();
      leave();
    });
    writeChanges(() => looks.look(principal, callId), stream, closed.signal).catch((error: unknown) => {
      // A watcher reconnects after an error and then gets it as a response.
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
    // A slow reader gets the latest state once it has read the previous one.
    if (!stream.writableNeedDrain) {
      const seen = await look();
      // The stream may have been ended meanwhile, for example because the key was revoked.
      if (stream.writableEnded) return;
      [watch, text] = advanceWatch(watch, seen, Date.now());
      if (text !== undefined) stream.write(text);
      // An erased call never changes again.
      if (seen.isErased) break;
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal: closed }).catch(() => undefined);
  }
  stream.end();
}
