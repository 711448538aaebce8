import { refuseBadWebhookUrl } from '../../platform/egress/webhook-url.js';
import type { CallGateway } from '../gateway.js';
import type { CallResponse } from '../placing/contract.js';
import type { callRoutes } from './contract.js';
import { isFinalStatus } from '../../kernel/call-state.js';
import { ServiceError } from '../../kernel/errors.js';
import type { CallQueries, CallStanding } from '../call-queries.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Principal, RouteHandlers } from '../../identity/access/principal.js';
import { deadlineOf, within } from '../../platform/http/deadline.js';
import { answer } from '../../platform/http/routing/answer.js';
import { findCall } from '../placing/call-status.js';
import { isRefused, placeCall, replayHeaders, type PlacingDeps } from '../placing/place-call.js';
import { createCallAwaits } from './call-awaits.js';
import { callView } from './call-views.js';
import type { ReadCall } from './calls.js';

export interface CallActionsDeps extends PlacingDeps {
  gateway: CallGateway;
  queries: CallQueries;
  readCall: ReadCall;
}

/** Timeout for an end to be confirmed: a carrier takes seconds to end a call and report it. */
const END_WITHIN_MS = 20_000;
const ERASE_WITHIN_MS = 10_000;

/** Handlers that place, cancel and erase calls. */
export function createCallActionHandlers(
  deps: CallActionsDeps,
): RouteHandlers<Pick<typeof callRoutes, 'createCall' | 'cancelCall' | 'eraseCall'>> {
  const { queries, gateway, config } = deps;
  const awaits = createCallAwaits(deps);

  const find = (ctx: ApiContext, principal: Principal, callId: string) =>
    within(deadlineOf(ctx), findCall(queries, principal, callId));

  /** Runs `work`, counted among the account's waiting requests. @throws ServiceError CONCURRENCY_LIMIT_EXCEEDED */
  async function waiting<T>(principal: Principal, work: () => Promise<T>): Promise<T> {
    const leave = awaits.enter(principal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  return {
    async createCall({ ctx, principal, body: request, headers }) {
      refuseBadWebhookUrl(request.webhook_url, config);
      const key = headers['Idempotency-Key'];
      const order = {
        principal,
        request,
        deadline: deadlineOf(ctx),
        ...(key === undefined ? {} : { idempotencyKey: key }),
      };
      const placed = await placeCall(deps, order);
      const told = replayHeaders(placed);
      if (isRefused(placed)) return answer<never>(placed.body, { status: placed.status, headers: told });
      const { call_id: callId } = placed.body as CallResponse;
      const readBack = async () => {
        // The call is placed by now, so reading it back has a timeout of its own, whatever is left of the request's.
        const readBy = Date.now() + 2_000;
        const call = await within(readBy, findCall(queries, principal, callId));
        return callView(await within(readBy, deps.readCall(call)), config.publicBaseUrl);
      };
      // A call that an earlier request placed may have a long transcript by now.
      const { inTurn } = ctx.state;
      return answer(await (placed.replayed && inTurn ? inTurn(readBack) : readBack()), { headers: told });
    },

    async cancelCall({ ctx, principal, params: { call_id: callId } }) {
      const before = await find(ctx, principal, callId);
      if (isFinalStatus(before.status)) throw callEnded(before);
      const call = await waiting(principal, async () => {
        // `hangUp` returns false if the workflow has ended: then the read model has the outcome, or soon will.
        await gateway.hangUp(callId, { cause: 'api_hangup' });
        const deadline = ctx.state.arrivedAt + END_WITHIN_MS;
        return awaits.until(before, deadline, ({ status }) => isFinalStatus(status));
      });
      const { status } = call;
      if (!isFinalStatus(status)) {
        throw new ServiceError(
          'SERVICE_UNAVAILABLE',
          `The end of the call was asked for and is not confirmed yet; it is ${status}. Please ask again.`,
          { status },
        );
      }
      const ours = call.endReason === 'api_hangup' && (status === 'CANCELLED' || status === 'COMPLETED');
      if (!ours) throw callEnded(call);
      return {
        call_id: callId,
        result: status === 'CANCELLED' ? 'cancelled' : 'hung_up',
        status,
        end_reason: 'api_hangup',
      };
    },

    async eraseCall({ ctx, principal, params: { call_id: callId } }) {
      const before = await find(ctx, principal, callId);
      if (!isFinalStatus(before.status)) {
        const { status } = before;
        throw new ServiceError('CONFLICT', `The call is ${status}; only a call that has ended can be erased.`, {
          status,
        });
      }
      const { erasedAt } = await waiting(principal, async () => {
        if (!before.erasedAt) await gateway.erase(callId);
        const deadline = ctx.state.arrivedAt + ERASE_WITHIN_MS;
        return awaits.until(before, deadline, (call) => call.erasedAt !== undefined);
      });
      if (erasedAt === undefined) {
        throw new ServiceError('SERVICE_UNAVAILABLE', 'The erasure goes on and is not complete yet. Please ask again.');
      }
      const erased = { call_id: callId, erased_at: erasedAt.toISOString() };
      return answer(erased, { unchanged: before.erasedAt !== undefined });
    },
  };
}

function callEnded({ status, endReason }: CallStanding): ServiceError {
  const how = endReason === undefined ? '' : ` (${endReason})`;
  return new ServiceError('CALL_ENDED', `The call is ${status}${how}.`, {
    status,
    ...(endReason === undefined ? {} : { end_reason: endReason }),
  });
}
