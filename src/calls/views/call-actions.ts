import { assertWebhookUrl } from '../../platform/egress/webhook-url.js';
import type { CallGateway } from '../gateway.js';
import type { CallResponse } from '../placing/contract.js';
import type { callRoutes } from './contract.js';
import { isFinalStatus } from '../../kernel/call-state.js';
import { ServiceError } from '../../kernel/errors.js';
import type { CallQueries, CallStatusFields } from '../call-queries.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Principal, RouteHandlers } from '../../identity/access/principal.js';
import { createFairQueue } from '../../platform/fair-queue.js';
import { abortSignalOf, deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import { withReferences } from '../../platform/http/contract/errors.js';
import { respond } from '../../platform/http/routing/response.js';
import { findCall } from '../placing/call-status.js';
import { isErrorResponse, placeCall, replayOptions, type PlacingDeps } from '../placing/place-call.js';
import { createCallWaits } from './call-waits.js';
import { callView } from './call-views.js';
import { READ_WAIT_MS, type CallReading } from './call-reading.js';

export interface CallActionsDeps extends PlacingDeps {
  gateway: CallGateway;
  queries: CallQueries;
  reading: CallReading;
}

/** How long a request waits for the end to be confirmed. A carrier takes seconds to end a call and report it. */
const END_WITHIN_MS = 20_000;
const ERASE_WITHIN_MS = 10_000;
const READ_BACK_WITHIN_MS = 2_000;
/**
 * Test calls are free, and ending one takes several steps of a worker. If hundreds of them could be canceled in the same
 * second, live calls would wait. One account has at most half of these slots.
 */
const TEST_CANCELS_AT_ONCE = 4;
/** Erasing a call takes even more steps, also that of a live call, which a customer may erase together with hundreds. */
const ERASURES_AT_ONCE = { test: 2, live: 4 };

/** Handlers that place, cancel and erase calls. */
export function createCallActionHandlers(
  deps: CallActionsDeps,
): RouteHandlers<Pick<typeof callRoutes, 'createCall' | 'cancelCall' | 'eraseCall'>> {
  const { queries, gateway, config } = deps;
  const waits = createCallWaits(deps);
  const cancels = { test: createActionQueue(TEST_CANCELS_AT_ONCE), live: undefined };
  const erasures = { test: createActionQueue(ERASURES_AT_ONCE.test), live: createActionQueue(ERASURES_AT_ONCE.live) };

  const find = (ctx: ApiContext, principal: Principal, callId: string) =>
    withDeadline(deadlineOf(ctx), findCall(queries, principal, callId));

  /** Runs `work` and counts it as a waiting request of the account. @throws ServiceError CONCURRENCY_LIMIT_EXCEEDED */
  async function countWaiting<T>(principal: Principal, work: () => Promise<T>): Promise<T> {
    const release = waits.enter(principal);
    try {
      return await work();
    } finally {
      release();
    }
  }

  return {
    async createCall({ ctx, principal, body: request, headers }) {
      assertWebhookUrl(request.webhook_url, config);
      const key = headers['Idempotency-Key'];
      const order = {
        principal,
        request,
        requestId: ctx.state.requestId,
        deadline: deadlineOf(ctx),
        ...(key === undefined ? {} : { idempotencyKey: key }),
      };
      const placed = await placeCall(deps, order);
      const options = replayOptions(placed);
      if (isErrorResponse(placed)) {
        const body = withReferences(placed.body, ctx.state);
        return respond<never>(body, { ...options, status: placed.status });
      }
      const { call_id: callId } = placed.body as CallResponse;
      const readBack = async () => {
        // The call is placed. Reading it back has a separate timeout, because the request's own deadline may be near.
        const createSignal = () => abortSignalOf(ctx, Date.now() + READ_WAIT_MS);
        const read = deps.reading.read(principal, callId, createSignal);
        const stored = await withDeadline(Date.now() + READ_BACK_WITHIN_MS, read);
        return deps.reading.convert(stored, createSignal, (records) => callView(records, config.publicBaseUrl));
      };
      // If an earlier request placed the call, its transcript may be long by now, so read it in the account's queue.
      const { runQueued } = ctx.state;
      return respond(await (placed.replayed && runQueued ? runQueued(readBack) : readBack()), options);
    },

    async cancelCall({ ctx, principal, params: { call_id: callId } }) {
      const before = await find(ctx, principal, callId);
      if (isFinalStatus(before.status)) throw callEnded(before);
      const deadline = ctx.state.arrivedAt + END_WITHIN_MS;
      const end = async () => {
        // `hangUp` returns false if the workflow has ended. Then the read model has the outcome, or will have it soon.
        await gateway.hangUp(callId, { cause: 'api_hangup' });
        return waits.until(before, deadline, ({ status }) => isFinalStatus(status));
      };
      const call = await countWaiting(principal, () =>
        inTurn(cancels[principal.mode], ctx, principal, { deadline, work: end }),
      );
      const { status } = call;
      if (!isFinalStatus(status)) {
        throw new ServiceError(
          'SERVICE_UNAVAILABLE',
          `The end of the call was requested but is not confirmed yet; the call is ${status}. Send the request again.`,
          { status },
        );
      }
      const endedByRequest = call.endReason === 'api_hangup' && (status === 'CANCELLED' || status === 'COMPLETED');
      if (!endedByRequest) throw callEnded(call);
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
        throw new ServiceError('CONFLICT', `The call is ${status}. Only a call that has ended can be erased.`, {
          status,
        });
      }
      const deadline = ctx.state.arrivedAt + ERASE_WITHIN_MS;
      const erase = async () => {
        await gateway.erase(callId);
        return waits.until(before, deadline, (call) => call.erasedAt !== undefined);
      };
      const { erasedAt } = before.erasedAt
        ? before
        : await countWaiting(principal, () =>
            inTurn(erasures[principal.mode], ctx, principal, { deadline, work: erase }),
          );
      if (erasedAt === undefined) {
        throw new ServiceError('SERVICE_UNAVAILABLE', 'The erasure is not complete yet. Send the request again.');
      }
      const erased = { call_id: callId, erased_at: erasedAt.toISOString() };
      return respond(erased, { unchanged: before.erasedAt !== undefined });
    },
  };
}

const createActionQueue = (maxRunning: number) => createFairQueue({ maxRunning, maxRunningPerGroup: maxRunning / 2 });

/** Runs work when its queue admits it, until the deadline at the latest; at once without a queue. */
async function inTurn<T>(
  queue: ReturnType<typeof createActionQueue> | undefined,
  ctx: ApiContext,
  { account, sender }: Principal,
  { deadline, work }: { deadline: number; work: () => Promise<T> },
): Promise<T> {
  if (queue === undefined) return work();
  let hasBegun = false;
  const begin = () => {
    hasBegun = true;
    return work();
  };
  try {
    return await queue.run({ groups: [account._id, sender], signal: abortSignalOf(ctx, deadline) }, begin);
  } catch (error) {
    if (!hasBegun) ctx.state.isUnchanged = true;
    throw error;
  }
}

function callEnded({ status, endReason }: CallStatusFields): ServiceError {
  const how = endReason === undefined ? '' : ` (${endReason})`;
  return new ServiceError('CALL_ENDED', `The call is ${status}${how}.`, {
    status,
    ...(endReason === undefined ? {} : { end_reason: endReason }),
  });
}
