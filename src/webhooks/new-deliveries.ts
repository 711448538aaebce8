import type { Config } from '../platform/config/config.js';
import { webhookEndpoint } from '../kernel/webhook-endpoint.js';
import { report } from '../platform/telemetry/measurements.js';
import type { WebhookDeliveries } from './deliveries.js';
import type { WebhookDeliveryDocument } from './model.js';
import { completionPayload, type CompletedCalls } from './payload.js';

interface ComposedDelivery {
  delivery: WebhookDeliveryDocument;
  /** When the call ended. */
  endedAt: Date;
}

/** Composes the deliveries of ended calls from their read models, and stores them. */
export function createNewDeliveries(deps: {
  config: Pick<Config, 'publicBaseUrl'>;
  calls: CompletedCalls;
  deliveries: WebhookDeliveries;
}) {
  const { config, calls, deliveries } = deps;

  /** Returns undefined if the call or its webhook URL no longer exists. @throws when the call has not ended */
  async function compose(callId: string): Promise<ComposedDelivery | undefined> {
    const found = await calls.find(callId);
    if (found === null) return undefined;
    const { call, webhookUrl } = found;
    const delivery = {
      _id: callId,
      callId,
      accountId: call.accountId,
      mode: call.mode,
      url: webhookUrl,
      endpoint: webhookEndpoint(webhookUrl),
      body: JSON.stringify(completionPayload(call, config.publicBaseUrl)),
      createdAt: new Date(),
    };
    return { delivery, endedAt: call.endTime ?? call.updatedAt };
  }

  /** Stores the delivery unless the call has one. */
  async function insert({ delivery, endedAt }: ComposedDelivery): Promise<'inserted' | 'exists'> {
    const outcome = await deliveries.insert(delivery);
    const seconds = Math.max(0, Date.now() - endedAt.getTime()) / 1_000;
    if (outcome === 'inserted') report('webhookReady', { mode: delivery.mode ?? 'live', seconds });
    return outcome;
  }

  /** Stores the delivery of a call unless it has one, and returns the stored one; undefined as `compose`. */
  async function store(callId: string): Promise<WebhookDeliveryDocument | undefined> {
    const composed = await compose(callId);
    if (composed === undefined || (await insert(composed)) === 'inserted') return composed?.delivery;
    const existing = await deliveries.find(callId);
    if (existing === null) throw new Error('A webhook delivery was deleted while it was being stored.');
    return existing;
  }

  return { compose, insert, store };
}
