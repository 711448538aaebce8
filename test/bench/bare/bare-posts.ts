import { Pool } from 'undici';
import { openConnection } from '../../../src/platform/mongo/connection.js';
import { serveDeliveries } from '../stack/deliveries.js';
import { bareSettings } from './settings.js';

/** The least that a recorded delivery needs: a row before the post, and the outcome after it. */
async function main(): Promise<void> {
  const { mongodbUri, inboxUrl } = bareSettings();
  const { connection: database } = await openConnection(mongodbUri);
  const attempts = database.collection<{ _id: string; text: string; outcome?: string }>('bare_attempts');
  const pool = new Pool(new URL(inboxUrl).origin);
  const body = 'x'.repeat(500);
  serveDeliveries(async (callId) => {
    await attempts.insertOne({ _id: callId, text: 'x'.repeat(300) });
    const response = await pool.request({
      method: 'POST',
      path: '/inbox',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ call_id: callId, body }),
    });
    await response.body.dump();
    await attempts.updateOne({ _id: callId }, { $set: { outcome: 'delivered' } });
  });
}

void main();
