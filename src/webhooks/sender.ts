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
  /** This attempt failed; the next is due after `afterMs`. */
  | { result: 'retry'; afterMs: number }
  /** All attempts failed, or there is nothing that could be sent. */
  | { result: 'exhausted' }
  /** Nothing was sent: an attempt is under way, its wait is not over, or its receiver is sent as much as it may be. */
  | { result: 'tooEarly'; afterMs: number };

export interface WebhookSender {
  /**
   * Makes at most one attempt to deliver a call's completion event. May be called at any time, by any number of workers:
   * the rows in the database decide whether an attempt is due.
   * @param redelivery 0: the first delivery; n: the n-th that was asked for later
   * @throws when the database is away, or the call is not over
   */
  attempt(callId: string, redelivery?: number): Promise<WebhookAttemptResult>;
}

/** The four attempts of a completion webhook, one call of `attempt` at a time. */
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
      // Nothing of an erased call leaves the house.
      if (delivery.erasedAt) return { result: 'exhausted' };
      const receiver = receiverOf(delivery);
      const waitMs = places.waitFor(receiver);
      if (waitMs !== undefined) return { result: 'tooEarly', afterMs: waitMs };
      // Read before the attempt is counted: without them, a signed receiver would be sent what it must refuse.
      const keys = await secrets.keys(delivery.accountId);
      for (;;) {
        const rows = await attempts.list(callId);
        const next = nextStepOf(rows, redelivery, Date.now());
        switch (next.step) {
          case 'delivered':
          case 'exhausted':
            // What stands is the outcome of the latest one.
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
            // Another worker may have claimed it in between; then the rows tell what to do instead.
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

  /** For lists; the rows stand, so it may be made up for when the worker dies before. */
  async function noteState(
    { callId, state }: WebhookDeliveryDocument,
    step: 'delivered' | 'exhausted' | 'retry',
    at = new Date(),
  ): Promise<void> {
    const now = step === 'retry' ? undefined : step === 'delivered' ? 'delivered' : 'failed';
    if (now === undefined || now !== state) await deliveries.note(callId, now, at);
  }

  /** Sends the attempt, or nothing when it is another worker's. */
  async function claimAndPost(
    attempt: WebhookDeliveryDocument & { keys: readonly Buffer[]; number: number; redelivery: number },
  ): Promise<PostResult | undefined> {
    const { callId, accountId, url, body, number, redelivery } = attempt;
    if ((await attempts.begin(callId, number, new Date(), redelivery)) === 'taken') return undefined;
    return client.post({ accountId, url, body, headers: headersOf(attempt) });
  }

  /** @param at.nth which attempt of its delivery it is; `number` counts through all deliveries of the event */
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

/** Customers of one host, a platform's say, do not wait for each other. */
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
