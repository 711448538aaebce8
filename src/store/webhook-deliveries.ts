import { isDuplicateKey, type Database } from './database.js';
import type { WebhookDeliveryDocument } from './models/webhook.js';

export type WebhookDeliveries = ReturnType<typeof createWebhookDeliveries>;

/** What is sent to a receiver: fixed once, so that every attempt sends the same bytes. */
export function createWebhookDeliveries(database: Database) {
  const deliveries = database.webhookDeliveries;

  function find(callId: string): Promise<WebhookDeliveryDocument | null> {
    return deliveries.findById(callId).lean<WebhookDeliveryDocument>().exec();
  }

  return {
    find,

    /**
     * Keeps the delivery unless one was kept before.
     * @returns the delivery that stands
     */
    async keep(delivery: WebhookDeliveryDocument): Promise<WebhookDeliveryDocument> {
      try {
        await deliveries.create(delivery);
        return delivery;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        const standing = await find(delivery._id);
        if (standing === null)
          throw new Error('A webhook delivery vanished while it was being kept.', { cause: error });
        return standing;
      }
    },
  };
}
