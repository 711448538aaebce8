import type { Connection } from 'mongoose';
import type { TelephonyDatabase } from '../telephony/database.js';
import { webhookAttemptSchema, webhookDeliverySchema } from './model.js';

/** Collections of the webhooks domain and of the domains it depends on. */
export type WebhooksDatabase = TelephonyDatabase & ReturnType<typeof webhooksModels>;

export function webhooksModels(connection: Connection) {
  return {
    webhookDeliveries: connection.model('WebhookDelivery', webhookDeliverySchema),
    webhookAttempts: connection.model('WebhookAttempt', webhookAttemptSchema),
  };
}
