import type { Mode } from '../kernel/ids.js';
import type { WebhooksDatabase } from './database.js';
import type { WebhookDeliveryDocument } from './model.js';

/** An endpoint is failing after this many consecutive failed events, or after failures over this long a time. */
const MANY = 20;
const LONG_MS = 24 * 3_600_000;
/** Endpoints without a failure for this long are considered unused. */
const FORGOTTEN_AFTER_MS = 7 * 24 * 3_600_000;
/** Limits per query: latest failed events, endpoints among them, and events counted per endpoint. */
const MOST_EVENTS = 200;
const MOST_ENDPOINTS = 20;
const MOST_COUNTED = 100;

export interface FailingEndpoint {
  /** URL without its query. */
  endpoint: string;
  /** When the first event after the last success failed for good. */
  since: Date;
  lastFailedAt: Date;
  /** Call of the event that failed last. */
  lastCallId: string;
  /** Events failed since the last success, counted up to 100. */
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
        .find({ accountId, mode, failedAt: { $gt: new Date(now - FORGOTTEN_AFTER_MS) } }, { body: 0 })
        .sort({ failedAt: -1 })
        .limit(MOST_EVENTS)
        .lean<FailedDelivery[]>()
        .exec();
      const last = new Map<string, FailedDelivery>();
      for (const delivery of recent) {
        // Erased deliveries have no endpoint.
        if (delivery.endpoint && !last.has(delivery.endpoint)) last.set(delivery.endpoint, delivery);
      }
      const found: FailingEndpoint[] = [];
      for (const delivery of [...last.values()].slice(0, MOST_ENDPOINTS)) {
        const run = await runUpTo(of, delivery);
        if (run !== undefined && isFailing(run)) found.push(run);
      }
      return found;
    },
  };

  /** Summarizes the events failed since the last success; undefined when the success came after all of them. */
  async function runUpTo(
    of: { accountId: string; mode: Mode },
    { callId, endpoint, failedAt }: FailedDelivery,
  ): Promise<FailingEndpoint | undefined> {
    const asked = { accountId: of.accountId, mode: of.mode, endpoint };
    const success = await deliveries
      .findOne({ ...asked, deliveredAt: { $gt: new Date(0) } }, { deliveredAt: 1 })
      .sort({ deliveredAt: -1 })
      .lean<Pick<WebhookDeliveryDocument, 'deliveredAt'>>()
      .exec();
    const lastDeliveredAt = success?.deliveredAt;
    const run = await deliveries
      .find({ ...asked, failedAt: { $gt: lastDeliveredAt ?? new Date(0) } }, { failedAt: 1 })
      .sort({ failedAt: 1 })
      .limit(MOST_COUNTED)
      .lean<Required<Pick<WebhookDeliveryDocument, 'failedAt'>>[]>()
      .exec();
    const [first] = run;
    if (first === undefined) return undefined;
    return {
      endpoint,
      since: first.failedAt,
      lastFailedAt: failedAt,
      lastCallId: callId,
      failures: run.length,
      ...(lastDeliveredAt ? { lastDeliveredAt } : {}),
    };
  }
}

function isFailing({ failures, since, lastFailedAt }: FailingEndpoint): boolean {
  return failures >= MANY || lastFailedAt.getTime() - since.getTime() >= LONG_MS;
}
