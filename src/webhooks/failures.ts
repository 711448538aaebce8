import type { Mode } from '../kernel/ids.js';
import type { WebhooksDatabase } from './database.js';
import type { WebhookDeliveryDocument } from './model.js';

/** An endpoint fails when so many events in a row were given up, or when those of so long a time were. */
const MANY = 20;
const LONG_MS = 24 * 3_600_000;
/** One that nothing failed at for so long is not used any more. */
const FORGOTTEN_AFTER_MS = 7 * 24 * 3_600_000;
/** Bounds of a look: the last events that were given up, the endpoints among them, and events told of each. */
const MOST_EVENTS = 200;
const MOST_ENDPOINTS = 20;
const MOST_COUNTED = 100;

export interface FailingEndpoint {
  /** Without its query. */
  endpoint: string;
  /** When the first event since the last success was given up. */
  since: Date;
  lastFailedAt: Date;
  /** Of the event that was given up last. */
  lastCallId: string;
  /** Events given up since the last success, counted up to 100. */
  failures: number;
  lastDeliveredAt?: Date;
}

export type WebhookFailures = ReturnType<typeof createWebhookFailures>;

type FailedDelivery = Required<Pick<WebhookDeliveryDocument, 'callId' | 'endpoint' | 'failedAt'>>;

/** Which endpoints of customers take no webhooks, read from the deliveries themselves. */
export function createWebhookFailures(database: WebhooksDatabase) {
  const deliveries = database.webhookDeliveries;

  return {
    /** Endpoints of an account and mode that fail now, those that failed last first. */
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
        // An erased one has no endpoint any more.
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

  /** The events given up since the last success, or undefined when the success came after all of them. */
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
