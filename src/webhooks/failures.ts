import type { Mode } from '../kernel/ids.js';
import type { WebhooksDatabase } from './database.js';
import type { WebhookDeliveryDocument } from './model.js';

/** An endpoint counts as failing after this many failed events in a row, or when events have failed for this long. */
const MAX_CONSECUTIVE_FAILURES = 20;
const MAX_FAILING_MS = 24 * 3_600_000;
/** Endpoints without a failure for this long count as unused and are not listed. */
const UNUSED_AFTER_MS = 7 * 24 * 3_600_000;
/**
 * Limits of a search for failing endpoints: how many of the latest failed events are read, how many of their endpoints
 * are checked, and how many failed events are counted for each endpoint.
 */
const MAX_EVENTS = 200;
const MOST_ENDPOINTS = 20;
const MOST_COUNTED = 100;

export interface FailingEndpoint {
  /** The webhook URL without its query. */
  endpoint: string;
  /** When the first event after the last success finally failed. */
  since: Date;
  lastFailedAt: Date;
  /** Call of the last failed event. */
  lastCallId: string;
  /** Number of events failed since the last success, counted up to 100. */
  failures: number;
  lastDeliveredAt?: Date;
}

export type WebhookFailures = ReturnType<typeof createWebhookFailures>;

type FailedDelivery = Required<Pick<WebhookDeliveryDocument, 'callId' | 'endpoint' | 'failedAt'>>;

/** Finds failing webhook endpoints from the stored deliveries. */
export function createWebhookFailures(database: WebhooksDatabase) {
  const deliveries = database.webhookDeliveries;

  return {
    /**
     * Lists the failing endpoints of an account and mode, latest failure first.
     * @param now ms since the epoch
     */
    async failing(of: { accountId: string; mode: Mode }, now = Date.now()): Promise<FailingEndpoint[]> {
      const { accountId, mode } = of;
      const recent = await deliveries
        .find({ accountId, mode, failedAt: { $gt: new Date(now - UNUSED_AFTER_MS) } }, { body: 0 })
        .sort({ failedAt: -1 })
        .limit(MAX_EVENTS)
        .lean<FailedDelivery[]>()
        .exec();
      const last = new Map<string, FailedDelivery>();
      for (const delivery of recent) {
        // Erased deliveries have no endpoint.
        if (delivery.endpoint && !last.has(delivery.endpoint)) last.set(delivery.endpoint, delivery);
      }
      const found: FailingEndpoint[] = [];
      for (const delivery of [...last.values()].slice(0, MOST_ENDPOINTS)) {
        const failures = await summarizeFailures(of, delivery);
        if (failures !== undefined && isFailing(failures)) found.push(failures);
      }
      return found;
    },
  };

  /** Summarizes the events that failed since the last success; undefined when all of them failed before it. */
  async function summarizeFailures(
    of: { accountId: string; mode: Mode },
    { callId, endpoint, failedAt }: FailedDelivery,
  ): Promise<FailingEndpoint | undefined> {
    const filter = { accountId: of.accountId, mode: of.mode, endpoint };
    const success = await deliveries
      .findOne({ ...filter, deliveredAt: { $gt: new Date(0) } }, { deliveredAt: 1 })
      .sort({ deliveredAt: -1 })
      .lean<Pick<WebhookDeliveryDocument, 'deliveredAt'>>()
      .exec();
    const lastDeliveredAt = success?.deliveredAt;
    const failures = await deliveries
      .find({ ...filter, failedAt: { $gt: lastDeliveredAt ?? new Date(0) } }, { failedAt: 1 })
      .sort({ failedAt: 1 })
      .limit(MOST_COUNTED)
      .lean<Required<Pick<WebhookDeliveryDocument, 'failedAt'>>[]>()
      .exec();
    const [first] = failures;
    if (first === undefined) return undefined;
    return {
      endpoint,
      since: first.failedAt,
      lastFailedAt: failedAt,
      lastCallId: callId,
      failures: failures.length,
      ...(lastDeliveredAt ? { lastDeliveredAt } : {}),
    };
  }
}

function isFailing({ failures, since, lastFailedAt }: FailingEndpoint): boolean {
  return failures >= MAX_CONSECUTIVE_FAILURES || lastFailedAt.getTime() - since.getTime() >= MAX_FAILING_MS;
}
