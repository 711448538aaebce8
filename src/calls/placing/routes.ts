import { assertWebhookUrl } from '../../platform/egress/webhook-url.js';
import {
  OutboundCallHeaders,
  OutboundCallQuery,
  OutboundCallRequest,
  type CallResponse,
  type placingRoutes,
} from './contract.js';
import { repeatedField } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import type { CallQueries } from '../call-queries.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Principal, RouteHandlers } from '../../identity/access/principal.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import { fieldsOf } from '../../platform/http/form.js';
import { readJsonBody, rejectPrototypeKeys } from '../../platform/http/json-body.js';
import { respond, type JsonResponse } from '../../platform/http/routing/response.js';
import { presentFields, validated } from '../../platform/http/validation.js';
import { callResponse, findCall } from './call-status.js';
import { placeCall, replayHeaders, type PlaceCallInput, type PlacingDeps } from './place-call.js';

export interface OutboundCallDeps extends PlacingDeps {
  queries: CallQueries;
}

/** Handlers of POST and GET /outbound_call. */
export function createPlacingHandlers(deps: OutboundCallDeps): RouteHandlers<typeof placingRoutes> {
  async function statusOf(ctx: ApiContext, principal: Principal, callId: unknown): Promise<CallResponse> {
    return callResponse(await withDeadline(deadlineOf(ctx), findCall(deps.queries, principal, callId)));
  }

  async function place(ctx: ApiContext, input: Omit<PlaceCallInput, 'deadline'>): Promise<JsonResponse<CallResponse>> {
    assertWebhookUrl(input.request.webhook_url, deps.config);
    const response = await placeCall(deps, { ...input, deadline: deadlineOf(ctx) });
    return respond(response.body, { status: response.status, headers: replayHeaders(response) });
  }

  return {
    async placeCall({ ctx, principal }) {
      const { fields, repeated } = await readJsonBody(ctx);
      // A request with any call_id, even an invalid one, reads a status and never places a call.
      if (repeated.has('call_id')) return statusOf(ctx, principal, undefined);
      if (isPresent(fields['call_id'])) return statusOf(ctx, principal, fields['call_id']);
      rejectPrototypeKeys(fields);
      if (repeated.size > 0) throw repeatedField();
      const request = validated(OutboundCallRequest, presentFields(fields));
      const idempotencyKey = idempotencyKeyOf(ctx);
      return place(ctx, { principal, request, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) });
    },

    async readOrPlaceCall({ ctx, principal }) {
      const fields = fieldsOf(ctx.querystring);
      if ('call_id' in fields) return statusOf(ctx, principal, fields['call_id']);
      rejectPrefetch(ctx);
      rejectPrototypeKeys(fields);
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

/** Rejects a browser's prefetch of the GET route, because a prefetch must not place a call. */
function rejectPrefetch(ctx: ApiContext): void {
  const purpose = `${ctx.get('Sec-Purpose')} ${ctx.get('Purpose')}`;
  if (/prefetch|prerender|preview/i.test(purpose)) {
    throw new ServiceError(
      'FORBIDDEN',
      'A browser prefetch must not place a call. Send the request without the Sec-Purpose and Purpose headers.',
    );
  }
}
