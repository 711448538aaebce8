import { refuseBadWebhookUrl } from '../../platform/egress/webhook-url.js';
import {
  OutboundCallHeaders,
  OutboundCallQuery,
  OutboundCallRequest,
  type CallResponse,
  type placingRoutes,
} from './contract.js';
import { ServiceError } from '../../kernel/errors.js';
import type { CallQueries } from '../call-queries.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Principal, RouteHandlers } from '../../identity/access/principal.js';
import { deadlineOf, within } from '../../platform/http/deadline.js';
import { fieldsOf } from '../../platform/http/form.js';
import { readJsonBody, refusePrototypeKeys } from '../../platform/http/json-body.js';
import { answer, type Answer } from '../../platform/http/routing/answer.js';
import { presentFields, validated } from '../../platform/http/validation.js';
import { callResponse, findCall } from './call-status.js';
import { placeCall, replayHeaders, type Order, type PlacingDeps } from './place-call.js';

export interface OutboundCallDeps extends PlacingDeps {
  queries: CallQueries;
}

/** POST and GET /outbound_call. */
export function createPlacingHandlers(deps: OutboundCallDeps): RouteHandlers<typeof placingRoutes> {
  async function statusOf(ctx: ApiContext, principal: Principal, callId: unknown): Promise<CallResponse> {
    return callResponse(await within(deadlineOf(ctx), findCall(deps.queries, principal, callId)));
  }

  async function place(ctx: ApiContext, order: Omit<Order, 'deadline'>): Promise<Answer<CallResponse>> {
    refuseBadWebhookUrl(order.request.webhook_url, deps.config);
    const placed = await placeCall(deps, { ...order, deadline: deadlineOf(ctx) });
    return answer(placed.body, { status: placed.status, headers: replayHeaders(placed) });
  }

  return {
    async placeCall({ ctx, principal }) {
      const { fields, repeated } = await readJsonBody(ctx);
      // With any call_id, even an invalid one, the request reads a status and never places a call.
      if (repeated.has('call_id')) return statusOf(ctx, principal, undefined);
      if (isPresent(fields['call_id'])) return statusOf(ctx, principal, fields['call_id']);
      refusePrototypeKeys(fields);
      const [twice] = repeated;
      if (twice !== undefined) throw new ServiceError('MISSING_PARAMS', 'A field of the JSON object is given twice.');
      const request = validated(OutboundCallRequest, presentFields(fields));
      const idempotencyKey = idempotencyKeyOf(ctx);
      return place(ctx, { principal, request, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) });
    },

    async readOrPlaceCall({ ctx, principal }) {
      const fields = fieldsOf(ctx.querystring);
      if ('call_id' in fields) return statusOf(ctx, principal, fields['call_id']);
      refusePrefetch(ctx);
      refusePrototypeKeys(fields);
      const request = validated(OutboundCallQuery, presentFields(fields));
      return place(ctx, { principal, request });
    },
  };
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** @throws ServiceError MISSING_PARAMS */
function idempotencyKeyOf(ctx: ApiContext): string | undefined {
  const given = { 'Idempotency-Key': ctx.req.headers['idempotency-key'] };
  return validated(OutboundCallHeaders, given)['Idempotency-Key'];
}

/** Rejects a browser's prefetch, which must not place a call. */
function refusePrefetch(ctx: ApiContext): void {
  const purpose = `${ctx.get('Sec-Purpose')} ${ctx.get('Purpose')}`;
  if (/prefetch|prerender|preview/i.test(purpose)) {
    throw new ServiceError('FORBIDDEN', 'A prefetch does not place a call.');
  }
}
