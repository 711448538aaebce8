import { Context } from '@temporalio/activity';
import { WebhookNotDelivered } from '../src/webhooks/errors.js';
import type { WebhookSender } from '../src/webhooks/sender.js';

/** Delivers completion webhooks. */
export function createWebhookActivities(sender: WebhookSender, { background }: { background: string }) {
  return {
    /**
     * Makes the due delivery attempt. Counts attempts in the database, because worker crashes distort Temporal's count.
     * @throws WebhookNotDelivered after a failed attempt, with the delay of the next one
     */
    async deliverWebhook(input: { callId: string; redelivery?: number }): Promise<{ delivered: boolean }> {
      const { attempt: attempts, taskQueue } = Context.current().info;
      const isFirst = input.redelivery === undefined && attempts === 1;
      const isBackground = taskQueue === background;
      const attempt = await sender.attempt(input.callId, input.redelivery, { isFirst, isBackground });
      if (attempt.result === 'delivered') return { delivered: true };
      if (attempt.result === 'exhausted') return { delivered: false };
      throw new WebhookNotDelivered(attempt.result, attempt.afterMs);
    },
  };
}
