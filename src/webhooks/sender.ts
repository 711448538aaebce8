import type { Config } from '../config.js';
import { completionEventId } from '../domain/ids.js';
import { USER_AGENT } from '../egress/user-agent.js';
import { createCallProjection } from '../store/projection.js';
import { createCallRequests } from '../store/call-requests.js';
import type { Database } from '../store/database.js';
import type { WebhookDeliveryDocument } from '../store/models/webhook.js';
import { createWebhookAttempts } from '../store/webhook-attempts.js';
import { createWebhookDeliveries } from '../store/webhook-deliveries.js';
import type { Logger } from '../telemetry/logger.js';
import { createWebhookClient, type PostResult } from './client.js';
import { completionPayload } from './payload.js';
import { MAX_ATTEMPTS, nextStep, waitAfter } from './schedule.js';

export type WebhookAttemptResult =
  | { result: 'delivered' }
  /** This attempt failed; the next is due after `afterMs`. */
  | { result: 'retry'; afterMs: number }
  /** All attempts failed, or there is nothing that could be sent. */
  | { result: 'exhausted' }
  /** Nothing was sent: an attempt is under way, or its wait is not over. */
  | { result: 'tooEarly'; afterMs: number };

export interface WebhookSender {
  /**
   * Makes at most one attempt to deliver a call's completion event. May be called at any time, by any number of workers:
   * the rows in the database decide whether an attempt is due.
   * @throws when the database is away, or the call is not over
   */
  attempt(callId: string): Promise<WebhookAttemptResult>;
}

/** The four attempts of a completion webhook, one call of `attempt` at a time. */
export function createWebhookSender(deps: { config: Config; database: Database; logger: Logger }): WebhookSender {
  const { config, database, logger } = deps;
  const calls = createCallProjection(database);
  const requests = createCallRequests(database);
  const deliveries = createWebhookDeliveries(database);
  const attempts = createWebhookAttempts(database);
  const client = createWebhookClient({ config });

  return {
    async attempt(callId) {
      const delivery = (await deliveries.find(callId)) ?? (await compose(callId));
      if (delivery === undefined) {
        logger.error({ callId }, 'a webhook was asked for, but the call or its URL is gone');
        return { result: 'exhausted' };
      }
      for (;;) {
        const next = nextStep(await attempts.list(callId), Date.now());
        switch (next.step) {
          case 'delivered':
          case 'exhausted':
            return { result: next.step };
          case 'wait':
            return { result: 'tooEarly', afterMs: next.afterMs };
          case 'interrupt':
            await interrupt(callId, next.number, next.failedAt);
            break;
          case 'send':
            // Another worker may have claimed it in between; then the rows tell what to do instead.
            if ((await attempts.begin(callId, next.number, new Date())) === 'begun') return send(delivery, next.number);
        }
      }
    },
  };

  async function compose(callId: string): Promise<WebhookDeliveryDocument | undefined> {
    const [call, request] = await Promise.all([calls.find(callId), requests.find(callId)]);
    // An expired call's tombstone has no account, and nobody is told of it.
    if (!call?.accountId || !request?.webhookUrl) return undefined;
    return deliveries.keep({
      _id: callId,
      callId,
      accountId: call.accountId,
      url: request.webhookUrl,
      body: JSON.stringify(completionPayload(call, config.publicBaseUrl)),
      createdAt: new Date(),
    });
  }

  async function interrupt(callId: string, number: number, failedAt: number): Promise<void> {
    logger.warn({ callId, attempt: number }, 'the worker of a webhook attempt died; the attempt counts as failed');
    await attempts.finish(callId, number, { outcome: 'interrupted' }, new Date(failedAt));
  }

  async function send(delivery: WebhookDeliveryDocument, number: number): Promise<WebhookAttemptResult> {
    const { callId, url, body } = delivery;
    const { delivered, ...answer } = await client.post(url, body, headersOf(callId));
    const finishedAt = new Date();
    await attempts.finish(callId, number, { outcome: delivered ? 'delivered' : 'failed', ...answer }, finishedAt);
    report(callId, number, delivered, answer);
    if (delivered) return { result: 'delivered' };
    return number >= MAX_ATTEMPTS ? { result: 'exhausted' } : { result: 'retry', afterMs: waitAfter(number) };
  }

  function report(callId: string, attempt: number, delivered: boolean, answer: Omit<PostResult, 'delivered'>): void {
    const { httpStatus, error, durationMs } = answer;
    const facts = { callId, attempt, httpStatus, error, durationMs };
    if (delivered) logger.info(facts, 'webhook delivered');
    else logger.warn(facts, 'webhook attempt failed');
  }
}

function headersOf(callId: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'webhook-id': completionEventId(callId),
    'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
  };
}
