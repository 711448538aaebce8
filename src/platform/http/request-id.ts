import { randomFillSync } from 'node:crypto';
import { ulid } from 'ulid';
import type { Logger } from '../telemetry/logger.js';
import { isObserved, report } from '../telemetry/measurements.js';
import { beginRequestSpan, type RequestSpan } from '../telemetry/spans.js';
import type { ApiContext } from './context.js';

const USABLE_ID = /^[\w.:-]{1,128}$/;

/** Random bytes drawn at once; an id needs 16. By default, `ulid` draws each byte by itself, 4 % of the time of a short read. */
const DRAWN_BYTES = 2_048;

/** Creates a function that returns a new request id each time. */
export function createRequestIds(): () => string {
  const bytes = new Uint8Array(DRAWN_BYTES);
  let next = DRAWN_BYTES;
  const fraction = () => {
    if (next === DRAWN_BYTES) {
      randomFillSync(bytes);
      next = 0;
    }
    return (bytes[next++] ?? 0) / 256;
  };
  return () => `req_${ulid(undefined, fraction)}`;
}

/**
 * Logs one line per response and assigns an id to every request. If the sender gave a usable id, keeps it.
 * @param p.errorDocs see RequestState
 * @param p.minDeadlineMs see RequestState
 */
export function requestId(logger: Logger, p: { errorDocs: string; minDeadlineMs: number }) {
  const newRequestId = createRequestIds();
  return async (ctx: ApiContext, next: () => Promise<unknown>): Promise<void> => {
    const given = ctx.get('X-Request-Id');
    ctx.state.requestId = USABLE_ID.test(given) ? given : newRequestId();
    ctx.state.errorDocs = p.errorDocs;
    ctx.state.arrivedAt = Date.now();
    ctx.state.minDeadlineMs = p.minDeadlineMs;
    ctx.set('X-Request-Id', ctx.state.requestId);
    const { arrivedAt: startedAt } = ctx.state;
    const span = beginRequestSpan({ startedAt, traceparent: ctx.get('traceparent') });
    await (span === undefined ? next() : span.run(next));
    reportRequest(ctx);
    endSpan(span, ctx);
    if (!logger.isLevelEnabled('debug')) return;
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

/** Methods that a client invents have one name, because each name is a separate series. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function reportRequest({ method, state, status }: ApiContext): void {
  if (!isObserved('httpRequest')) return;
  report('httpRequest', {
    method: METHODS.has(method) ? method : 'other',
    route: state.route ?? 'other',
    status,
    mode: state.mode ?? 'none',
    ...(state.isFrozen ? { cause: 'frozen' as const } : {}),
    seconds: (Date.now() - state.arrivedAt) / 1_000,
  });
}

const OWN_ID = /^req_[0-9A-HJKMNP-TV-Z]{26}$/;

/** Health checks, files and unknown paths have no span. */
function endSpan(span: RequestSpan | undefined, { method, state, status }: ApiContext): void {
  const { route, requestId: id } = state;
  if (span === undefined || route === undefined || route.startsWith('/health')) return;
  span.rename(`${method} ${route}`);
  span.add({ method, route, status, ...(OWN_ID.test(id) ? { requestId: id } : {}) });
  span.end({ failed: status >= 500 });
}
