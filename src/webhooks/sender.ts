import { urlFrom } from '../kernel/text.js';
import type { Config } from '../platform/config/config.js';
import { completionEventId } from '../kernel/ids.js';
import { webhookEndpoint } from '../kernel/webhook-endpoint.js';
import { USER_AGENT } from '../platform/egress/user-agent.js';
import type { WebhooksDatabase } from './database.js';
import type { WebhookDeliveryDocument } from './model.js';
import { createWebhookAttempts } from './attempts.js';
import { createWebhookDeliveries } from './deliveries.js';
import { createWebhookSecrets } from './secrets.js';
import type { Logger } from '../platform/telemetry/logger.js';
import { createWebhookClient, type PostResult } from './client.js';
import { completionPayload, type CompletedCalls } from './payload.js';
import { createPlaces, type Receiver } from '../platform/egress/places.js';
import { MAX_ATTEMPTS, nextStepOf, waitAfter } from './schedule.js';
import { signatureHeader } from '../platform/egress/signature.js';

export type WebhookAttemptResult =
  | { result: 'delivered' }
  /** The attempt failed; the next one is due after `afterMs`. */
  | { result: 'retry'; afterMs: number }
  /** All attempts failed, or there is nothing to send. */
  | { result: 'exhausted' }
  /**
   * Nothing was sent: another attempt is under way, the retry delay is not over, or the receiver's bulkhead is full.
   */
  | { result: 'tooEarly'; afterMs: number };

export interface WebhookSender {
  /**
   * Makes at most one attempt to deliver a call's completion event. Safe to call at any time and from any number of
   * workers, because the stored attempts decide whether one is due.
   * @param redelivery 0: the first delivery; n: the n-th redelivery
   * @throws when the database is unavailable or the call has not ended
   */
  attempt(callId: string, redelivery?: number): Promise<WebhookAttemptResult>;
}

/** Creates the sender of completion webhooks. Each call of `attempt` makes at most one of the four attempts. */
export function createWebhookSender(deps: {
  config: Config;
  database: WebhooksDatabase;
  calls: CompletedCalls;
  logger: Logger;
}): WebhookSender {
  const { config, database, calls, logger } = deps;
  const deliveries = createWebhookDeliveries(database);
  const attempts = createWebhookAttempts(database);
  const secrets = createWebhookSecrets({ database, config });
  const client = createWebhookClient({ config });
  const places = createPlaces();

  return {
    async attempt(callId, redelivery = 0) {
      const delivery = (await deliveries.find(callId)) ?? (await compose(callId));
      if (delivery === undefined) {
        logger.error({ callId }, 'a webhook was asked for, but the call or its URL is gone');
        return { result: 'exhausted' };
      }
      // Never send data of an erased call.
      if (delivery.erasedAt) return { result: 'exhausted' };
      const receiver = receiverOf(delivery);
      const waitMs = places.waitFor(receiver);
      if (waitMs !== undefined) return { result: 'tooEarly', afterMs: waitMs };
      // Read the keys before claiming the attempt: a failure here must not use up an attempt or send it unsigned.
      const keys = await secrets.keys(delivery.accountId);
      for (;;) {
        const rows = await attempts.list(callId);
        const next = nextStepOf(rows, redelivery, Date.now());
        switch (next.step) {
          case 'delivered':
          case 'exhausted':
            // Only the latest delivery determines the recorded state.
            if (rows.every((row) => (row.redelivery ?? 0) <= redelivery)) {
              await noteState(delivery, next.step, rows.at(-1)?.finishedAt);
            }
            return { result: next.step };
          case 'wait':
            return { result: 'tooEarly', afterMs: next.afterMs };
          case 'interrupt':
            await interrupt(callId, next.number, next.failedAt);
            break;
          case 'send': {
            const place = places.take(receiver);
            if ('afterMs' in place) return { result: 'tooEarly', afterMs: place.afterMs };
            const claimed = { ...delivery, keys, number: next.number, redelivery };
            const answer = await claimAndPost(claimed).finally(() => place.giveBack());
            // Another worker claimed the attempt first; look at the stored attempts again.
            if (answer === undefined) break;
            return conclude(delivery, { number: next.number, nth: next.nth ?? next.number }, answer);
          }
        }
      }
    },
  };

  async function compose(callId: string): Promise<WebhookDeliveryDocument | undefined> {
    const found = await calls.find(callId);
    if (found === null) return undefined;
    const { call, webhookUrl } = found;
    return deliveries.keep({
      _id: callId,
      callId,
      accountId: call.accountId,
      mode: call.mode,
      url: webhookUrl,
      endpoint: webhookEndpoint(webhookUrl),
      body: JSON.stringify(completionPayload(call, config.publicBaseUrl)),
      createdAt: new Date(),
    });
  }

  async function interrupt(callId: string, number: number, failedAt: number): Promise<void> {
    logger.warn({ callId, attempt: number }, 'the worker of a webhook attempt died; the attempt counts as failed');
    await attempts.finish(callId, number, { outcome: 'interrupted' }, new Date(failedAt));
  }

  /** Records the state for lists. A later call makes up for a lost write, because the attempts are authoritative. */
  async function noteState(
    { callId, state }: WebhookDeliveryDocument,
    step: 'delivered' | 'exhausted' | 'retry',
    at = new Date(),
  ): Promise<void> {
    const now = step === 'retry' ? undefined : step === 'delivered' ? 'delivered' : 'failed';
    if (now === undefined || now !== state) await deliveries.note(callId, now, at);
  }

  /** Claims and sends an attempt; undefined when another worker has claimed it. */
  async function claimAndPost(
    attempt: WebhookDeliveryDocument & { keys: readonly Buffer[]; number: number; redelivery: number },
  ): Promise<PostResult | undefined> {
    const { callId, accountId, url, body, number, redelivery } = attempt;
    if ((await attempts.begin(callId, number, new Date(), redelivery)) === 'taken') return undefined;
    return client.post({ accountId, url, body, headers: headersOf(attempt) });
  }

  /** @param at.number counts attempts across all deliveries of the event, `nth` within this one */
  async function conclude(
    delivery: WebhookDeliveryDocument,
    { number, nth }: { number: number; nth: number },
    { delivered, ...answer }: PostResult,
  ): Promise<WebhookAttemptResult> {
    const { callId } = delivery;
    const finishedAt = new Date();
    await attempts.finish(callId, number, { outcome: delivered ? 'delivered' : 'failed', ...answer }, finishedAt);
    report(callId, number, delivered, answer);
    const result = delivered ? 'delivered' : nth >= MAX_ATTEMPTS ? 'exhausted' : 'retry';
    await noteState(delivery, result, finishedAt);
    return result === 'retry' ? { result, afterMs: waitAfter(nth) } : { result };
  }

  function report(callId: string, attempt: number, delivered: boolean, answer: Omit<PostResult, 'delivered'>): void {
    const { httpStatus, error, durationMs } = answer;
    const facts = { callId, attempt, httpStatus, error, durationMs };
    if (delivered) logger.info(facts, 'webhook delivered');
    else logger.warn(facts, 'webhook attempt failed');
  }
}

/** Limits apply per account and host, so that customers of a shared host do not slow each other down. */
function receiverOf({ accountId, url, mode }: WebhookDeliveryDocument): Receiver {
  return { accountId, host: urlFrom(url)?.host ?? '', ...(mode && { mode }) };
}

function headersOf(p: Pick<WebhookDeliveryDocument, 'callId' | 'body' | 'mode'> & { keys: readonly Buffer[] }) {
  const id = completionEventId(p.callId);
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signature = signatureHeader({ ...p, id, timestamp });
  return {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    ...(p.mode === undefined ? {} : { 'webhook-mode': p.mode }),
    ...(signature === '' ? {} : { 'webhook-signature': signature }),
  };
}
