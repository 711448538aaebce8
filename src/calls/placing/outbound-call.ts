import { refuseBadWebhookUrl } from '../../platform/egress/webhook-url.js';
import { OutboundCallQuery, OutboundCallRequest } from './contract.js';
import { ServiceError } from '../../kernel/errors.js';
import type { CallQueries } from '../call-queries.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Principal } from '../../identity/access/principal.js';
import { deadlineOf, within } from '../../platform/http/deadline.js';
import { fieldsOf } from '../../platform/http/form.js';
import { readJsonBody, refusePrototypeKeys } from '../../platform/http/json-body.js';
import { presentFields, validated } from '../../platform/http/validation.js';
import { callResponse, findCall } from './call-status.js';
import { placeCall, type Order, type PlacingDeps } from './place-call.js';

const MAX_IDEMPOTENCY_KEY_LENGTH = 255;

export interface OutboundCallDeps extends PlacingDeps {
  queries: CallQueries;
}

/** POST and GET /outbound_call. */
export function createOutboundCall(deps: OutboundCallDeps) {
  async function sendStatus(ctx: ApiContext, principal: Principal, callId: unknown): Promise<void> {
    ctx.body = callResponse(await within(deadlineOf(ctx), findCall(deps.queries, principal, callId)));
  }

  async function place(ctx: ApiContext, order: Omit<Order, 'deadline'>): Promise<void> {
    refuseBadWebhookUrl(order.request.webhook_url, deps.config);
    const answer = await placeCall(deps, { ...order, deadline: deadlineOf(ctx) });
    ctx.status = answer.status;
    ctx.body = answer.body;
    if (answer.replayed) ctx.set('Idempotent-Replayed', 'true');
  }

  return {
    async post(ctx: ApiContext, principal: Principal): Promise<void> {
      const { fields, repeated } = await readJsonBody(ctx);
      // A call_id that is there at all, of whatever kind, means a question about a call and never a new one.
      if (repeated.has('call_id')) return sendStatus(ctx, principal, undefined);
      if (isPresent(fields['call_id'])) return sendStatus(ctx, principal, fields['call_id']);
      refusePrototypeKeys(fields);
      const [twice] = repeated;
      if (twice !== undefined) throw new ServiceError('MISSING_PARAMS', 'A field of the JSON object is given twice.');
      const request = validated(OutboundCallRequest, presentFields(fields));
      const idempotencyKey = idempotencyKeyOf(ctx);
      await place(ctx, { principal, request, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) });
    },

    async get(ctx: ApiContext, principal: Principal): Promise<void> {
      const fields = fieldsOf(ctx.querystring);
      if ('call_id' in fields) return sendStatus(ctx, principal, fields['call_id']);
      refusePrefetch(ctx);
      refusePrototypeKeys(fields);
      const request = validated(OutboundCallQuery, presentFields(fields));
      await place(ctx, { principal, request });
    },
  };
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** @throws ServiceError MISSING_PARAMS */
export function idempotencyKeyOf(ctx: ApiContext): string | undefined {
  const key = ctx.req.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key === 'string' && key.length > 0 && key.length <= MAX_IDEMPOTENCY_KEY_LENGTH) return key;
  throw new ServiceError('MISSING_PARAMS', `Idempotency-Key must have 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} characters.`);
}

/** A browser that fetches ahead of its user must not make a phone ring. */
function refusePrefetch(ctx: ApiContext): void {
  const purpose = `${ctx.get('Sec-Purpose')} ${ctx.get('Purpose')}`;
  if (/prefetch|prerender|preview/i.test(purpose)) {
    throw new ServiceError('FORBIDDEN', 'A prefetch does not place a call.');
  }
}
