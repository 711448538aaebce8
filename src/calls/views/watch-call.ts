import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../platform/config/config.js';
import { isFinalStatus } from '../../kernel/call-state.js';
import { ServiceError } from '../../kernel/errors.js';
import type { CallQueries } from '../call-queries.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { Principal, RouteHandlers } from '../../identity/access/principal.js';
import { content } from '../../platform/http/routing/answer.js';
import type { callRoutes } from './contract.js';
import { deadlineOf, within } from '../../platform/http/deadline.js';
import { endEvents } from '../../identity/access/principal-watch.js';
import { findCall } from '../placing/call-status.js';
import { callView } from './call-views.js';
import type { ReadCall } from './calls.js';

const LOOK_EVERY_MS = 500;
/** A comment this often keeps proxies from taking the stream for dead. */
const COMMENT_EVERY_MS = 15_000;
/** Browsers ask again by themselves. */
const WATCH_MS = 300_000;
/** The webhook's first attempt and late callbacks follow the end closely; a watcher sees them, too. */
const AFTER_END_MS = 3_000;
/** In each mode. */
const WATCHERS_PER_ACCOUNT = 20;

/** GET /calls/{call_id}/events: the call at each change, as server-sent events. */
export function createWatchCall(deps: {
  config: Config;
  queries: CallQueries;
  readCall: ReadCall;
  logger: Logger;
}): RouteHandlers<typeof callRoutes>['watchCall'] {
  const { config, queries, readCall, logger } = deps;
  const watchers = new Map<string, number>();

  return async ({ ctx, principal, params: { call_id: callId } }) => {
    // Test keys take no place from live ones.
    const watcher = `${principal.account._id} ${principal.mode}`;
    await within(deadlineOf(ctx), findCall(queries, principal, callId));
    const current = watchers.get(watcher) ?? 0;
    if (current >= WATCHERS_PER_ACCOUNT) {
      const message = `The account watches ${current} calls already.`;
      throw new ServiceError('CONCURRENCY_LIMIT_EXCEEDED', message, { limit: WATCHERS_PER_ACCOUNT, current });
    }
    watchers.set(watcher, current + 1);
    const stream = new PassThrough();
    const closed = new AbortController();
    stream.once('close', () => {
      closed.abort();
      const left = (watchers.get(watcher) ?? 1) - 1;
      if (left > 0) watchers.set(watcher, left);
      else watchers.delete(watcher);
    });
    tell(principal, callId, stream, closed.signal).catch((error: unknown) => {
      // Who watches asks again and is told then.
      if (closed.signal.aborted) return;
      if (error instanceof ServiceError) return endEvents(stream, error);
      logger.warn({ callId, err: error }, 'a call could not be watched any longer');
      stream.destroy();
    });
    return content('text/event-stream', stream, { headers: { 'X-Accel-Buffering': 'no' } });
  };

  async function tell(principal: Principal, callId: string, stream: PassThrough, closed: AbortSignal): Promise<void> {
    const endAt = Date.now() + WATCH_MS;
    let told = '';
    let wroteAt = Date.now();
    let leaveAt = Number.POSITIVE_INFINITY;
    while (!closed.aborted && Date.now() < Math.min(endAt, leaveAt)) {
      const call = await findCall(queries, principal, callId);
      const view = JSON.stringify(callView(await readCall(call), config.publicBaseUrl));
      // The right to watch may have ended meanwhile.
      if (stream.writableEnded) return;
      if (view !== told) {
        stream.write(`event: call\ndata: ${view}\n\n`);
        told = view;
        wroteAt = Date.now();
      } else if (Date.now() - wroteAt > COMMENT_EVERY_MS) {
        stream.write(': still here\n\n');
        wroteAt = Date.now();
      }
      // Nothing will change any more.
      if (call.erasedAt) break;
      if (isFinalStatus(call.status)) leaveAt = Math.min(leaveAt, Date.now() + AFTER_END_MS);
      await sleep(LOOK_EVERY_MS, undefined, { signal: closed }).catch(() => undefined);
    }
    stream.end();
  }
}
