import { assertWebhookUrl } from '../../platform/egress/webhook-url.js';
import {
  OutboundCallHeaders,
  OutboundCallParameters,
  OutboundCallQuery,
  OutboundCallRequest,
  type CallResponse,
  type placingRoutes,
} from './contract.js';
import { rejectRepeated } from '../../kernel/common-errors.js';
import { ServiceError } from '../../kernel/errors.js';
import { isInvalidRequest, runChecks } from '../../kernel/invalid-request.js';
import type { CallQueries } from '../call-queries.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Principal, RouteHandlers } from '../../identity/access/principal.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import { fieldsOf } from '../../platform/http/form.js';
import { readJsonBody, rejectPrototypeKeys } from '../../platform/http/json-body.js';
import { withReferences } from '../../platform/http/contract/errors.js';
import { respond, type JsonResponse } from '../../platform/http/routing/response.js';
import { presentFields, validated } from '../../platform/http/validation.js';
import { callResponse, findStatus } from './call-status.js';
import { findUnknownFields, warningsHeader } from './unknown-fields.js';
import { isErrorResponse, placeCall, replayOptions, type PlaceCallInput, type PlacingDeps } from './place-call.js';

export interface OutboundCallDeps extends PlacingDeps {
  queries: CallQueries;
}

/** Names of all fields of a POST, and of all parameters of a GET. */
const POST_FIELDS = new Set(['call_id', ...Object.keys(OutboundCallRequest.shape)]);
const GET_PARAMETERS = new Set(Object.keys(OutboundCallParameters.shape));

const GET_USES = 'Give call_id to read the status of a call, or to_phone_number and agent_id to place one.';

/** Handlers of POST and GET /outbound_call. */
export function createPlacingHandlers(deps: OutboundCallDeps): RouteHandlers<typeof placingRoutes> {
  async function statusOf(ctx: ApiContext, principal: Principal, callId: unknown): Promise<JsonResponse<CallResponse>> {
    const status = await withDeadline(deadlineOf(ctx), findStatus(deps.queries, principal, callId));
    return respond<CallResponse>(callResponse(status), { unchanged: true });
  }

  async function place(
    ctx: ApiContext,
    input: Omit<PlaceCallInput, 'deadline' | 'requestId' | 'onCallId'>,
  ): Promise<JsonResponse<CallResponse>> {
    const { state } = ctx;
    const onCallId = (callId: string) => void (state.callId = callId);
    const response = await placeCall(deps, {
      ...input,
      onCallId,
      requestId: state.requestId,
      deadline: deadlineOf(ctx),
    });
    const { body, status } = response;
    const options = { status, ...replayOptions(response) };
    return isErrorResponse(response)
      ? respond<CallResponse>(withReferences(response.body, state), options)
      : respond<CallResponse>(body as CallResponse, options);
  }

  /** Rejects a webhook URL that requests may not be sent to. Validation rejects a value that is not a string. */
  function checkWebhookUrl(url: unknown): void {
    if (typeof url === 'string') assertWebhookUrl(url, deps.config);
  }

  return {
    async placeCall({ ctx, principal }) {
      const { fields, repeated } = await readJsonBody(ctx);
      const unknownFields = reportUnknownFields(ctx, fields, POST_FIELDS);
      // A request with any call_id, even an invalid one, reads a status and never places a call.
      if (repeated.has('call_id')) return statusOf(ctx, principal, undefined);
      if (isPresent(fields['call_id'])) return statusOf(ctx, principal, fields['call_id']);
      rejectPrototypeKeys(fields);
      const present = presentFields(fields);
      const [, request, idempotencyKey] = runChecks(
        () => rejectRepeated(repeated),
        () => validated(OutboundCallRequest, present),
        () => idempotencyKeyOf(ctx),
        () => checkWebhookUrl(present['webhook_url']),
      );
      const key = idempotencyKey === undefined ? {} : { idempotencyKey };
      return place(ctx, { principal, request, unknownFields, ...key });
    },

    async readOrPlaceCall({ ctx, principal }) {
      const fields = fieldsOf(ctx.querystring);
      const unknownFields = reportUnknownFields(ctx, fields, GET_PARAMETERS);
      if ('call_id' in fields) return statusOf(ctx, principal, fields['call_id']);
      rejectPrefetch(ctx);
      rejectPrototypeKeys(fields);
      const present = presentFields(fields);
      const [request] = explainingUses(present, () =>
        runChecks(
          () => validated(OutboundCallQuery, present),
          () => checkWebhookUrl(present['webhook_url']),
        ),
      );
      return place(ctx, { principal, request, unknownFields });
    },
  };
}

/** Names the unknown fields of a request in a response header. Returns their percent-encoded names. */
function reportUnknownFields(ctx: ApiContext, fields: object, known: ReadonlySet<string>): string[] {
  const unknown = findUnknownFields(fields, known);
  const header = warningsHeader(unknown);
  if (header !== undefined) ctx.set('X-Callwright-Warnings', header);
  return unknown.names;
}

/** Runs checks of a GET request for a new call. If it is incomplete, the error explains both uses of the route first. */
function explainingUses<T>(present: Record<string, unknown>, check: () => T): T {
  try {
    return check();
  } catch (error) {
    const isComplete = ['to_phone_number', 'agent_id'].every((name) => present[name] !== undefined);
    if (isComplete || !isInvalidRequest(error)) throw error;
    const { code, message, details, faults } = error;
    throw new ServiceError(code, `${GET_USES} ${message}`, details, undefined, faults);
  }
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
