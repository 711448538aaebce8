import { ulid } from 'ulid';
import type { Logger } from '../telemetry/logger.js';
import type { ApiContext } from './context.js';

const USABLE_ID = /^[\w.:-]{1,128}$/;

export function newRequestId(): string {
  return `req_${ulid()}`;
}

/**
 * Logs one line per response and assigns an id to every request. If the sender gave a usable id, keeps it.
 * @param p.errorDocs see RequestState
 * @param p.minDeadlineMs see RequestState
 */
export function requestId(logger: Logger, p: { errorDocs: string; minDeadlineMs: number }) {
  return async (ctx: ApiContext, next: () => Promise<unknown>): Promise<void> => {
    const given = ctx.get('X-Request-Id');
    ctx.state.requestId = USABLE_ID.test(given) ? given : newRequestId();
    ctx.state.errorDocs = p.errorDocs;
    ctx.state.arrivedAt = Date.now();
    ctx.state.minDeadlineMs = p.minDeadlineMs;
    ctx.set('X-Request-Id', ctx.state.requestId);
    await next();
    logger.debug(
      {
        requestId: ctx.state.requestId,
        method: ctx.method,
        route: ctx.state.route,
        status: ctx.status,
        ms: Date.now() - ctx.state.arrivedAt,
      },
      'request completed',
    );
  };
}
