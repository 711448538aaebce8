import type { deliveryRoutes } from './contract.js';
import type { DeliveredCall, FailingWebhook, WebhookDelivery } from './schemas.js';
import { ServiceError } from '../kernel/errors.js';
import { completionEventId, type Mode } from '../kernel/ids.js';
import { joinDocuments } from '../platform/mongo/raw-document.js';
import type { AttemptStep, WebhookAttemptDocument } from './model.js';
import { unstoredAttempt, type WebhookAttempts } from './attempts.js';
import type { DeliveryHead, WebhookDeliveries } from './deliveries.js';
import type { FailingEndpoint, WebhookFailures } from './failures.js';
import { nextDeliveryStep } from './schedule.js';
import type { ApiContext } from '../platform/http/context.js';
import type { Principal, RouteHandlers } from '../identity/access/principal.js';
import { deadlineOf, abortSignalOf, withDeadline } from '../platform/http/deadline.js';
import { respond } from '../platform/http/routing/response.js';
import type { RateLimiter } from '../platform/http/rate-limits/rate-limit.js';
import type { LargeDocuments } from '../platform/http/routing/large-documents.js';
import { attemptDetailView } from './attempt-view.js';
import { omitUndefined } from '../kernel/omit-undefined.js';
import { listDeadlineOf, pageResponse, positionOf, type Cursors } from '../platform/http/lists.js';

/** Starts redeliveries; implemented by the calls domain. */
export interface Redeliveries {
  redeliver(p: { callId: string; redelivery: number }): Promise<void>;
}

/** Reads calls; implemented by the calls domain. */
export interface DeliveredCalls {
  /** Returns the calls that exist and belong to the account and mode, by id. */
  findDelivered(p: { callIds: readonly string[]; accountId: string; mode: Mode }): Promise<Map<string, DeliveredCall>>;
}

export interface DeliveryHandlersDeps {
  gateway: Redeliveries;
  calls: DeliveredCalls;
  deliveries: WebhookDeliveries;
  attempts: WebhookAttempts;
  failures: WebhookFailures;
  rateLimiter: RateLimiter;
  largeDocuments: LargeDocuments;
  cursors: Cursors;
}

const REDELIVERIES_PER_MINUTE = 30;
const MAX_REDELIVERIES = 50;
const ABANDONED_AFTER_MS = 5 * 60_000;

/** Creates the handlers for webhook deliveries. They find only deliveries of the requesting account and mode. */
export function createDeliveryHandlers(deps: DeliveryHandlersDeps): RouteHandlers<typeof deliveryRoutes> {
  const { deliveries, attempts, failures, gateway, calls, rateLimiter, cursors, largeDocuments } = deps;

  /** @throws ServiceError NOT_FOUND */
  async function find(ctx: ApiContext, { account, mode }: Principal, callId: string): Promise<DeliveryHead> {
    const found = await withDeadline(deadlineOf(ctx), deliveries.findHead(callId));
    if (found?.accountId !== account._id || found.mode !== mode) throw noDelivery();
    return found;
  }

  return {
    async listWebhookDeliveries({ ctx, principal: { account, mode }, query }) {
      const { state } = query;
      const list = `deliveries ${account._id} ${mode} ${state ?? ''}`;
      const pageQuery = {
        accountId: account._id,
        mode,
        ...(state === undefined ? {} : { state }),
        ...positionOf(cursors, list, query),
        signal: abortSignalOf(ctx, listDeadlineOf(ctx)),
      };
      const page = await withDeadline(listDeadlineOf(ctx), deliveries.page(pageQuery));
      const callIds = page.items.map(({ callId }) => callId);
      const related = Promise.all([
        attempts.counts(callIds),
        calls.findDelivered({ callIds, accountId: account._id, mode }),
      ]);
      const [counts, byId] = await withDeadline(listDeadlineOf(ctx), related);
      return pageResponse(cursors, list, page, (delivery) => ({
        ...deliveryView(delivery, Math.max(counts.get(delivery.callId) ?? 0, delivery.firstAttemptAt ? 1 : 0)),
        ...omitUndefined({ call: byId.get(delivery.callId) }),
      }));
    },

    async readWebhookDelivery({ ctx, principal, params: { call_id: callId } }) {
      const owner = { accountId: principal.account._id, mode: principal.mode };
      const createSignal = () => abortSignalOf(ctx, listDeadlineOf(ctx));
      const deadline = largeDocuments.readDeadlineOf(ctx, principal);
      const read = async () => {
        const delivery = await deliveries.findWhole(callId, owner);
        return delivery && joinDocuments(delivery, await attempts.listWhole(callId));
      };
      const found = await withDeadline(deadline, largeDocuments.read(principal, createSignal, read));
      if (found === null) throw noDelivery();
      return largeDocuments.convert(principal, createSignal, found, ([delivery, stored]) => {
        const rows = [...unstoredAttempt(delivery, stored), ...stored];
        const attempt_log = rows.map(attemptDetailView);
        return { ...deliveryView(delivery, rows.length), body: delivery.body, attempt_log };
      });
    },

    async listFailingWebhooks({ ctx, principal: { account, mode } }) {
      const due = listDeadlineOf(ctx);
      const found = await withDeadline(due, failures.failing({ accountId: account._id, mode }));
      const rows = await withDeadline(due, attempts.lastFailedOf(found.map(({ lastCallId }) => lastCallId)));
      return { data: found.map((each) => failingView(each, rows.get(each.lastCallId))) };
    },

    async redeliverWebhook({ ctx, principal, params: { call_id: callId } }) {
      const delivery = await find(ctx, principal, callId);
      if (delivery.erasedAt)
        throw new ServiceError('CONFLICT', 'The data of this call was erased, so its webhook cannot be redelivered.');
      const { redeliveries: known = 0 } = delivery;
      const rows = await withDeadline(deadlineOf(ctx), attempts.stepsOf(delivery));
      const latest = nextDeliveryStep(rows, known, Date.now()).step;
      const isOver = latest === 'delivered' || latest === 'exhausted' || isAbandoned(delivery, rows);
      if (!isOver && known === 0) {
        throw new ServiceError('CONFLICT', 'The first delivery of the webhook is not finished yet. Try again later.');
      }
      if (isOver && known >= MAX_REDELIVERIES) {
        throw new ServiceError('CONFLICT', `The webhook was redelivered ${known} times, which is the limit.`);
      }
      const key = `redeliver:${principal.account._id}:${principal.mode}`;
      const counting = rateLimiter.count(ctx, [{ key, requestsPerMinute: REDELIVERIES_PER_MINUTE }]);
      if (counting !== undefined) await withDeadline(deadlineOf(ctx), counting);
      // If a redelivery is running, start it again with its number. That has an effect only if its first start was
      // lost.
      const redelivery = isOver
        ? await withDeadline(deadlineOf(ctx), deliveries.beginRedelivery(callId, known))
        : known;
      await gateway.redeliver({ callId, redelivery });
      return respond({ call_id: callId, redelivery }, { unchanged: !isOver });
    },
  };
}

/** Whether the delivery was abandoned: the last attempt was longer ago than any retry delay. */
function isAbandoned({ createdAt }: DeliveryHead, rows: readonly AttemptStep[]): boolean {
  const last = rows.at(-1);
  const latest = last?.finishedAt ?? last?.startedAt ?? createdAt;
  return last !== undefined && Date.now() - latest.getTime() > ABANDONED_AFTER_MS;
}

function noDelivery(): ServiceError {
  return new ServiceError('NOT_FOUND', 'There is no webhook delivery with this call_id.');
}

function deliveryView(delivery: DeliveryHead, attempts: number): WebhookDelivery {
  return {
    call_id: delivery.callId,
    webhook_id: completionEventId(delivery.callId),
    url: delivery.url,
    state: delivery.state ?? 'pending',
    attempts,
    redeliveries: delivery.redeliveries ?? 0,
    created_at: delivery.createdAt.toISOString(),
    ...(delivery.lastAttemptAt ? { last_attempt_at: delivery.lastAttemptAt.toISOString() } : {}),
  };
}

function failingView(failing: FailingEndpoint, last: WebhookAttemptDocument | undefined): FailingWebhook {
  return {
    url: failing.endpoint,
    since: failing.since.toISOString(),
    failed_deliveries: failing.failures,
    last_failed_at: failing.lastFailedAt.toISOString(),
    last_call_id: failing.lastCallId,
    ...omitUndefined({
      last_error: last?.error,
      last_http_status: last?.httpStatus,
      last_delivered_at: failing.lastDeliveredAt?.toISOString(),
    }),
  };
}
