import type { deliveryRoutes } from './contract.js';
import type { FailingWebhook, WebhookDelivery } from './schemas.js';
import { ServiceError } from '../kernel/errors.js';
import { completionEventId } from '../kernel/ids.js';
import type { WebhookAttemptDocument, WebhookDeliveryDocument } from './model.js';
import type { WebhookAttempts } from './attempts.js';
import type { WebhookDeliveries } from './deliveries.js';
import type { FailingEndpoint, WebhookFailures } from './failures.js';
import { nextStepOf } from './schedule.js';
import type { ApiContext } from '../platform/http/context.js';
import type { Principal, RouteHandlers } from '../identity/access/principal.js';
import { deadlineOf, endOf, within } from '../platform/http/deadline.js';
import { answer } from '../platform/http/routing/answer.js';
import type { RateLimiter } from '../platform/http/rate-limit.js';
import { attemptView } from './attempt-view.js';
import { listDeadlineOf, pageAnswer, positionOf, present, type Cursors } from '../platform/http/lists.js';

/** Starts redeliveries; implemented by the calls domain. */
export interface Redeliveries {
  redeliver(p: { callId: string; redelivery: number }): Promise<void>;
}

export interface DeliveryHandlersDeps {
  gateway: Redeliveries;
  deliveries: WebhookDeliveries;
  attempts: WebhookAttempts;
  failures: WebhookFailures;
  rateLimiter: RateLimiter;
  cursors: Cursors;
}

const REDELIVERIES_PER_MINUTE = 30;
const MOST_REDELIVERIES = 50;
const ABANDONED_AFTER_MS = 5 * 60_000;

/** Creates the handlers for webhook deliveries of the requesting account and mode; others respond as not found. */
export function createDeliveryHandlers(deps: DeliveryHandlersDeps): RouteHandlers<typeof deliveryRoutes> {
  const { deliveries, attempts, failures, gateway, rateLimiter, cursors } = deps;

  /** @throws ServiceError NOT_FOUND */
  async function find(ctx: ApiContext, { account, mode }: Principal, callId: string): Promise<WebhookDeliveryDocument> {
    const found = await within(deadlineOf(ctx), deliveries.find(callId));
    if (found?.accountId !== account._id || found.mode !== mode) {
      throw new ServiceError('NOT_FOUND', 'There is no webhook delivery of a call with this call_id.');
    }
    return found;
  }

  return {
    async listWebhookDeliveries({ ctx, principal: { account, mode }, query }) {
      const { state } = query;
      const list = `deliveries ${account._id} ${mode} ${state ?? ''}`;
      const asked = {
        accountId: account._id,
        mode,
        ...(state === undefined ? {} : { state }),
        ...positionOf(cursors, list, query),
        signal: endOf(ctx, listDeadlineOf(ctx)),
      };
      const page = await within(listDeadlineOf(ctx), deliveries.page(asked));
      const counts = await within(listDeadlineOf(ctx), attempts.counts(page.items.map(({ callId }) => callId)));
      return pageAnswer(cursors, list, page, (delivery) => deliveryView(delivery, counts.get(delivery.callId) ?? 0));
    },

    async readWebhookDelivery({ ctx, principal, params: { call_id: callId } }) {
      const delivery = await find(ctx, principal, callId);
      const rows = await within(deadlineOf(ctx), attempts.list(callId));
      return { ...deliveryView(delivery, rows.length), body: delivery.body, attempt_log: rows.map(attemptView) };
    },

    async listFailingWebhooks({ ctx, principal: { account, mode } }) {
      const due = listDeadlineOf(ctx);
      const found = await within(due, failures.failing({ accountId: account._id, mode }));
      const rows = await within(due, attempts.lastFailedOf(found.map(({ lastCallId }) => lastCallId)));
      return { data: found.map((each) => failingView(each, rows.get(each.lastCallId))) };
    },

    async redeliverWebhook({ ctx, principal, params: { call_id: callId } }) {
      const delivery = await find(ctx, principal, callId);
      if (delivery.erasedAt) throw new ServiceError('CONFLICT', 'The data of this call was erased.');
      const { redeliveries: known = 0 } = delivery;
      const rows = await within(deadlineOf(ctx), attempts.list(callId));
      const latest = nextStepOf(rows, known, Date.now()).step;
      const isOver = latest === 'delivered' || latest === 'exhausted' || isAbandoned(delivery, rows);
      if (!isOver && known === 0) {
        throw new ServiceError('CONFLICT', 'The webhook is still being delivered for the first time.');
      }
      if (isOver && known >= MOST_REDELIVERIES) {
        throw new ServiceError('CONFLICT', `The webhook was redelivered ${known} times, which is the most.`);
      }
      await within(
        deadlineOf(ctx),
        rateLimiter.count(ctx, `redeliver:${principal.account._id}:${principal.mode}`, REDELIVERIES_PER_MINUTE, {
          told: false,
        }),
      );
      // Start a running redelivery again under its own number. That has no effect unless its first start was lost.
      const redelivery = isOver ? await within(deadlineOf(ctx), deliveries.beginRedelivery(callId, known)) : known;
      await gateway.redeliver({ callId, redelivery });
      return answer({ call_id: callId, redelivery }, { unchanged: !isOver });
    },
  };
}

/** Whether no attempt was made for longer than any retry delay, so that the delivery must have been abandoned. */
function isAbandoned({ createdAt }: WebhookDeliveryDocument, rows: readonly WebhookAttemptDocument[]): boolean {
  const last = rows.at(-1);
  const latest = last?.finishedAt ?? last?.startedAt ?? createdAt;
  return last !== undefined && Date.now() - latest.getTime() > ABANDONED_AFTER_MS;
}

function deliveryView(delivery: WebhookDeliveryDocument, attempts: number): WebhookDelivery {
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
    ...present({
      last_error: last?.error,
      last_http_status: last?.httpStatus,
      last_delivered_at: failing.lastDeliveredAt?.toISOString(),
    }),
  };
}
