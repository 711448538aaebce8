import { createWebhookClient } from '../../../src/webhooks/client.js';

/** Posts argv[3] to argv[2] and prints the result as JSON. */
async function main(): Promise<void> {
  const client = createWebhookClient({ config: { webhooks: { guarded: false, allowCidrs: [] } } });
  const [, , url = '', body = ''] = process.argv;
  process.stdout.write(JSON.stringify(await client.post(url, body, { 'content-type': 'application/json' })));
}

void main();
