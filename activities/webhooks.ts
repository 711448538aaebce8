import { WebhookNotDelivered } from '../src/webhooks/errors.js';
import type { WebhookSender } from '../src/webhooks/sender.js';

/** Delivery of the completion event. */
export function createWebhookActivities({ sender }: { sender: WebhookSender }) {
  return {
    /**
     * Makes the attempt that is due. Attempts are counted by rows in the database, not by Temporal, whose count a dead
     * worker distorts; a failed one asks Temporal to come back when the next is due.
     */
    async deliverWebhook(input: { callId: string; redelivery?: number }): Promise<{ delivered: boolean }> {
      const attempt = await sender.attempt(input.callId, input.redelivery);
      if (attempt.result === 'delivered') return { delivered: true };
      if (attempt.result === 'exhausted') return { delivered: false };
      throw new WebhookNotDelivered(attempt.result, attempt.afterMs);
    },
  };
}
