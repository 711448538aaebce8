import { ulid } from 'ulid';
import { openDatabase } from '../../src/database.js';

/**
 * Stores twenty failed events for the webhook endpoint of an agent in test mode.
 * @returns the id of a call whose event was delivered before them
 */
export async function failTwentyEvents(mongodbUri: string): Promise<string> {
  const database = await openDatabase(mongodbUri);
  try {
    const taken = await database.webhookDeliveries.findOne({ state: 'delivered', mode: 'test' }).lean();
    if (taken === null) throw new Error('no webhook was delivered');
    const { _id, deliveredAt: _then, ...shared } = taken;
    for (let count = 0; count < 20; count++) {
      const callId = `call_${ulid()}`;
      const times = { createdAt: new Date(), lastAttemptAt: new Date(), failedAt: new Date() };
      await database.webhookDeliveries.create([{ ...shared, ...times, _id: callId, callId, state: 'failed' }]);
      const came = { startedAt: new Date(), outcome: 'failed' as const, error: 'status', httpStatus: 503 };
      await database.webhookAttempts.create([{ _id: `${callId}:4`, callId, number: 4, ...came }]);
    }
    return _id;
  } finally {
    await database.close();
  }
}
