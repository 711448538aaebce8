import { createWebhookClient } from '../../../../src/webhooks/client.js';
import { egressConfig } from '../../../support/egress-config.js';

/** Posts argv[3] to argv[2] and prints the result as JSON. */
async function main(): Promise<void> {
  const client = createWebhookClient({ config: egressConfig() });
  const [, , url = '', body = ''] = process.argv;
  const headers = { 'content-type': 'application/json' };
  process.stdout.write(JSON.stringify(await client.post({ accountId: 'acct_1', url, body, headers })));
}

void main();
