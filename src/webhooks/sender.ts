import { urlFrom } from '../kernel/text.js';
import type { Config } from '../platform/config/config.js';
import { completionEventId } from '../kernel/ids.js';
import { webhookEndpoint } from '../kernel/webhook-endpoint.js';
import { USER_AGENT } from '../platform/egress/user-agent.js';
import type { WebhooksDatabase } from './database.js';
import type { WebhookAttemptDocument, WebhookDeliveryDocument } from './model.js';
import { createWebhookAttempts } from './attempts.js';
import { createWebhookDeliveries, type DeliveryHead, type WebhookDeliveries } from './deliveries.js';
import { createWebhookSecrets, type WebhookSecrets } from './secrets.js';
import type { Logger } from '../platform/telemetry/logger.js';
import { report } from '../platform/telemetry/measurements.js';
import { inSpan, traceparentOf } from '../platform/telemetry/spans.js';
import { createWebhookClient, type PostResult } from './client.js';
import { completionPayload, type CompletedCalls } from './payload.js';
import { createBulkhead, type EgressTarget } from '../platform/egress/bulkhead.js';
import { MAX_ATTEMPTS, nextDeliveryStep, retryDelayMs } from './schedule.js';
import { signatureHeader } from '../platform/egress/signature.js';
import { storableHeaders } from './storable-headers.js';

export type WebhookAttemptResult =
  | { result: 'delivered' }
  /** The attempt failed; the next one is due after `afterMs`. */
  | { result: 'retry'; afterMs: number }
  /** All attempts failed, or there is nothing to send. */
  | { result: 'exhausted' }
  /**
   * Nothing was sent: another attempt is in progress, the retry delay is not over, or the endpoint's bulkhead is full.
   */
  | { result: 'tooEarly'; afterMs: number };

interface AttemptOptions {
  isFirst?: boolean;
  isBackground?: boolean;
}

export interface WebhookSender {
  /**
   * Makes at most one attempt to deliver a call's completion event. Safe to call at any time and by any number of
   * workers, because the stored attempts decide whether an attempt is due.
   * @param redelivery 0: the first delivery; n: the n-th redelivery
   * @param options.isFirst true if there is probably no delivery yet. Then it is inserted without a look whether there is one.
   * @param options.isBackground true in the task queue `background`, which lends webhooks half of its activity slots
   * @throws when the database is unavailable or the call has not ended
   */
  attempt(callId: string, redelivery?: number, options?: AttemptOptions): Promise<WebhookAttemptResult>;
}

type ClaimedAttempt = WebhookDeliveryDocument & { keys: readonly Buffer[]; number: number };
type SentAttempt = PostResult & Required<Pick<WebhookAttemptDocument, 'requestHeaders'>>;

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
  const client = createWebhookClient({ config });
  const { activities } = config.worker.capacity.background.slots;
  const bulkhead = createBulkhead({ backgroundSlots: Math.ceil(activities / 2) });

  return {
    async attempt(callId, redelivery = 0, { isFirst = false, isBackground = false } = {}) {
      const stored = isFirst ? null : await deliveries.find(callId);
      const found = stored === null ? await compose(callId) : { delivery: stored, isNew: false };
      if (found === undefined) {
        logger.error({ callId }, 'webhook not sent: the call or its webhook URL no longer exists');
        return { result: 'exhausted' };
      }
      const { delivery } = found;
      let isNew = isFirst && found.isNew;
      // Never send data of an erased call.
      if (delivery.erasedAt) return { result: 'exhausted' };
      const target = { ...toEgressTarget(delivery), isBackground };
      const waitMs = bulkhead.waitMsFor(target);
      if (waitMs !== undefined) return { result: 'tooEarly', afterMs: waitMs };
      // Read the keys before claiming the attempt. If reading fails, no attempt is used up or sent unsigned.
      const keys = await (isNew ? secrets.recentKeys(delivery.accountId) : secrets.keys(delivery.accountId));
      for (;;) {
        const rows = isNew ? [] : await attempts.steps(callId);
        isNew = false;
        const next = nextDeliveryStep(rows, redelivery, Date.now());
        switch (next.step) {
          case 'delivered':
          case 'exhausted':
            // Only the latest delivery decides the recorded state.
            if (rows.every((row) => (row.redelivery ?? 0) <= redelivery)) {
              await recordState(deliveries, delivery, next.step, rows.at(-1)?.finishedAt);
            }
            return { result: next.step };
          case 'wait':
            return { result: 'tooEarly', afterMs: next.afterMs };
          case 'interrupt':
            await interrupt(callId, next.number, next.failedAt);
            break;
          case 'send': {
            const slot = bulkhead.tryAcquire(target);
            if ('retryAfterMs' in slot) return { result: 'tooEarly', afterMs: slot.retryAfterMs };
            const claimed = { ...delivery, keys, number: next.number, redelivery };
            const result = await claimAndPost(claimed).finally(() => slot.release());
            // Another worker claimed the attempt first, so read the stored attempts again.
            if (result === undefined) break;
            return conclude(delivery, { number: next.number, nth: next.nth ?? next.number }, result);
          }
        }
      }
    },
  };

  async function compose(callId: string): Promise<{ delivery: WebhookDeliveryDocument; isNew: boolean } | undefined> {
    const found = await calls.find(callId);
    if (found === null) return undefined;
    const { call, webhookUrl } = found;
    const ready = await deliveries.insertOrFind({
      _id: callId,
      callId,
      accountId: call.accountId,
      mode: call.mode,
      url: webhookUrl,
      endpoint: webhookEndpoint(webhookUrl),
      body: JSON.stringify(completionPayload(call, config.publicBaseUrl)),
      createdAt: new Date(),
    });
    const ended = call.endTime ?? call.updatedAt;
    const seconds = Math.max(0, Date.now() - ended.getTime()) / 1_000;
    if (ready.isNew) report('webhookReady', { mode: call.mode, seconds });
    return ready;
  }

  async function interrupt(callId: string, number: number, failedAt: number): Promise<void> {
    logger.warn({ callId, attempt: number }, 'webhook attempt interrupted: its worker died');
    await attempts.finish(callId, number, { outcome: 'interrupted' }, new Date(failedAt));
  }

  /** Claims and sends an attempt. Returns undefined when another worker has claimed it. */
  async function claimAndPost(attempt: ClaimedAttempt & { redelivery: number }): Promise<SentAttempt | undefined> {
    const { callId, number, redelivery } = attempt;
    if ((await attempts.begin(callId, number, new Date(), redelivery)) === 'taken') return undefined;
    return postInSpan(client, attempt);
  }

  /** Records the result. @param at.number counts attempts across all deliveries of the event, `nth` within this one */
  async function conclude(
    delivery: WebhookDeliveryDocument,
    { number, nth }: { number: number; nth: number },
    { delivered, ...response }: SentAttempt,
  ): Promise<WebhookAttemptResult> {
    const { callId } = delivery;
    const finishedAt = new Date();
    await attempts.finish(callId, number, { outcome: delivered ? 'delivered' : 'failed', ...response }, finishedAt);
    const outcome = delivered ? 'delivered' : nth >= MAX_ATTEMPTS ? 'exhausted' : 'retry';
    logOutcome(logger, outcome, { callId, attempt: number, ...response });
    report('webhookAttempt', {
      outcome: delivered ? 'delivered' : (response.error ?? 'refused'),
      seconds: response.durationMs / 1_000,
    });
    const stored = await recordState(deliveries, delivery, outcome, finishedAt);
    // The call may have been erased during the request, before there was a response to erase.
    if (stored?.erasedAt) await attempts.erase(callId);
    return outcome === 'retry' ? { result: outcome, afterMs: retryDelayMs(nth) } : { result: outcome };
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

/**
 * Records a delivery's state, for lists. If the write is lost, the next attempt computes and writes it again.
 * @returns the delivery as it is then
 */
async function recordState(
  deliveries: WebhookDeliveries,
  { callId, state }: WebhookDeliveryDocument,
  step: 'delivered' | 'exhausted' | 'retry',
  at = new Date(),
): Promise<DeliveryHead | null> {
  const now = step === 'retry' ? undefined : step === 'delivered' ? 'delivered' : 'failed';
  if (now !== undefined && now === state) return deliveries.findHead(callId);
  return deliveries.recordState(callId, now, at);
}

/** Logs the outcome of a delivery in one line. Its attempts are stored, and shown to the customer. */
function logOutcome(
  logger: Logger,
  outcome: 'delivered' | 'exhausted' | 'retry',
  facts: { callId: string; attempt: number } & Omit<PostResult, 'delivered'>,
): void {
  const { callId, attempt, httpStatus, error, durationMs } = facts;
  const logged = { callId, attempt, httpStatus, error, durationMs };
  if (outcome === 'delivered') logger.info(logged, 'webhook delivered');
  else if (outcome === 'exhausted') logger.warn(logged, 'webhook not delivered: all attempts failed');
  else logger.debug(logged, 'webhook attempt failed');
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
