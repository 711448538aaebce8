import { urlFrom } from '../kernel/text.js';
import type { Config } from '../platform/config/config.js';
import { completionEventId } from '../kernel/ids.js';
import { USER_AGENT } from '../platform/egress/user-agent.js';
import type { WebhooksDatabase } from './database.js';
import type { WebhookDeliveryDocument } from './model.js';
import { createAttemptResults, type SentAttempt, type WebhookAttemptResult } from './attempt-results.js';
import { createWebhookAttempts } from './attempts.js';
import { createWebhookDeliveries } from './deliveries.js';
import { createNewDeliveries } from './new-deliveries.js';
import { createWebhookSecrets, type WebhookSecrets } from './signing/secrets.js';
import type { Logger } from '../platform/telemetry/logger.js';
import { inSpan, traceparentOf } from '../platform/telemetry/spans.js';
import { createWebhookClient } from './client.js';
import type { CompletedCalls } from './payload.js';
import { createBulkhead, type EgressTarget } from '../platform/egress/bulkhead.js';
import { nextDeliveryStep } from './schedule.js';
import { signatureHeader } from '../platform/egress/signature.js';
import { storableHeaders } from './storable-headers.js';

interface AttemptOptions {
  isFirst?: boolean;
  isBackground?: boolean;
}

export interface WebhookSender {
  /**
   * Makes at most one attempt to deliver a call's completion event. Safe to call at any time and by any number of
   * workers, because the stored attempts decide whether an attempt is due.
   * @param redelivery 0: the first delivery; n: the n-th redelivery
   * @param options.isFirst true if there is probably no delivery yet. Then it is stored without a look whether there is one.
   * @param options.isBackground true in the task queue `background`, which lends webhooks half of its activity slots
   * @throws when the database is unavailable or the call has not ended
   */
  attempt(callId: string, redelivery?: number, options?: AttemptOptions): Promise<WebhookAttemptResult>;
}

type ClaimedAttempt = WebhookDeliveryDocument & { keys: readonly Buffer[]; number: number };

/** Creates the sender of completion webhooks. Each call of `attempt` makes at most one of the four attempts. */
export function createWebhookSender(deps: {
  config: Config;
  database: WebhooksDatabase;
  calls: CompletedCalls;
  logger: Logger;
  /** The cache of secrets that other steps have read; by default a new one. */
  webhookSecrets?: WebhookSecrets;
}): WebhookSender {
  const { config, database, calls, logger } = deps;
  const deliveries = createWebhookDeliveries(database);
  const attempts = createWebhookAttempts(database);
  const secrets = deps.webhookSecrets ?? createWebhookSecrets({ database, config });
  const news = createNewDeliveries({ config, calls, deliveries });
  const results = createAttemptResults({ deliveries, attempts, logger });
  const client = createWebhookClient({ config });
  const { activities } = config.worker.capacity.background.slots;
  const bulkhead = createBulkhead({ backgroundSlots: Math.ceil(activities / 2) });

  return {
    async attempt(callId, redelivery = 0, { isFirst = false, isBackground = false } = {}) {
      const first = isFirst ? await attemptAtOnce(callId, isBackground) : undefined;
      if (first !== undefined) return first;
      const delivery = (await deliveries.find(callId)) ?? (await news.store(callId));
      if (delivery === undefined) {
        logger.error({ callId }, 'webhook not sent: the call or its webhook URL no longer exists');
        return { result: 'exhausted' };
      }
      // Never send data of an erased call.
      if (delivery.erasedAt) return { result: 'exhausted' };
      const target = { ...toEgressTarget(delivery), isBackground };
      const waitMs = bulkhead.waitMsFor(target);
      if (waitMs !== undefined) return { result: 'tooEarly', afterMs: waitMs };
      // Read the keys before claiming the attempt. If reading fails, no attempt is used up or sent unsigned.
      const keys = await secrets.keys(delivery.accountId);
      for (;;) {
        const rows = await attempts.stepsOf(delivery);
        const next = nextDeliveryStep(rows, redelivery, Date.now());
        switch (next.step) {
          case 'delivered':
          case 'exhausted':
            // Only the latest delivery decides the recorded state.
            if (rows.every((row) => (row.redelivery ?? 0) <= redelivery)) {
              await results.recordState(delivery, next.step, rows.at(-1)?.finishedAt);
            }
            return { result: next.step };
          case 'wait':
            return { result: 'tooEarly', afterMs: next.afterMs };
          case 'interrupt':
            await results.interrupt(delivery, next.number, next.failedAt);
            break;
          case 'send': {
            const slot = bulkhead.tryAcquire(target);
            if ('retryAfterMs' in slot) return { result: 'tooEarly', afterMs: slot.retryAfterMs };
            const claimed = { ...delivery, keys, number: next.number, redelivery };
            const result = await claimAndPost(claimed).finally(() => slot.release());
            // Another worker claimed the attempt first, so read the stored attempts again.
            if (result === undefined) break;
            return results.conclude(delivery, { number: next.number, nth: next.nth ?? next.number }, result);
          }
        }
      }
    },
  };

  /**
   * Stores the delivery, which thereby claims the first attempt, and makes that attempt.
   * @returns undefined if the call has a delivery already, or none can be sent now. Then nothing was stored.
   */
  async function attemptAtOnce(callId: string, isBackground: boolean): Promise<WebhookAttemptResult | undefined> {
    const composed = await news.compose(callId);
    if (composed === undefined) return undefined;
    const keys = await secrets.recentKeys(composed.delivery.accountId);
    const slot = bulkhead.tryAcquire({ ...toEgressTarget(composed.delivery), isBackground });
    if ('retryAfterMs' in slot) return undefined;
    const delivery = { ...composed.delivery, firstAttemptAt: new Date() };
    let result: SentAttempt;
    try {
      if ((await news.insert({ ...composed, delivery })) === 'exists') return undefined;
      result = await postInSpan(client, { ...delivery, keys, number: 1 });
    } finally {
      slot.release();
    }
    return results.conclude(delivery, { number: 1, nth: 1 }, result);
  }

  /** Claims and sends an attempt. Returns undefined when another worker has claimed it. */
  async function claimAndPost(attempt: ClaimedAttempt & { redelivery: number }): Promise<SentAttempt | undefined> {
    const { callId, number, redelivery } = attempt;
    if ((await attempts.begin(callId, number, new Date(), redelivery)) === 'taken') return undefined;
    return postInSpan(client, attempt);
  }
}

/** Sends an attempt in a span, whose id the endpoint gets. */
function postInSpan(client: ReturnType<typeof createWebhookClient>, attempt: ClaimedAttempt): Promise<SentAttempt> {
  const { callId, accountId, url, body, number } = attempt;
  return inSpan('webhook attempt', { callId, kind: 'client', facts: { attempt: number } }, async (span) => {
    const headers = createHeaders(attempt);
    const result = await client.post({ accountId, url, body, headers });
    const { delivered, httpStatus, error } = result;
    span?.add({
      outcome: delivered ? 'delivered' : (error ?? 'refused'),
      ...(httpStatus === undefined ? {} : { status: httpStatus }),
    });
    return { ...result, requestHeaders: storableHeaders(headers).headers };
  });
}

/** Returns the target whose limits apply. Each account has separate limits for a host, even if others use it, too. */
function toEgressTarget({ accountId, url, mode }: WebhookDeliveryDocument): EgressTarget {
  return { accountId, host: urlFrom(url)?.host ?? '', ...(mode && { mode }) };
}

function createHeaders(p: Pick<WebhookDeliveryDocument, 'callId' | 'body' | 'mode'> & { keys: readonly Buffer[] }) {
  const id = completionEventId(p.callId);
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = signatureHeader({ ...p, id, timestamp });
  const traceparent = traceparentOf(p.callId);
  return {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    ...(p.mode === undefined ? {} : { 'webhook-mode': p.mode }),
    ...(signature === '' ? {} : { 'webhook-signature': signature }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}
