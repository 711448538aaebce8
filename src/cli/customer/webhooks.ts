import type { WebhookDelivery } from '../../webhooks/schemas.js';
import type { Output } from '../output.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { readPages, type PageOptions } from './lists.js';
import type { Service } from './service.js';

const COLUMNS = {
  call_id: 'Call',
  state: 'State',
  attempts: 'Attempts',
  redeliveries: 'Sent again',
  url: 'URL',
  created_at: 'Created',
  last_attempt_at: 'Last attempt',
};
const ATTEMPT_COLUMNS = {
  number: 'Attempt',
  redelivery: 'Sent again',
  started_at: 'Started',
  outcome: 'Outcome',
  http_status: 'Status',
  error: 'Error',
  duration_ms: 'ms',
  response_body: 'Response',
};

export async function listWebhooks(
  { client }: Service,
  out: Output,
  { state, ...paging }: PageOptions & { state?: WebhookDelivery['state'] },
): Promise<void> {
  await out.page(await readPages(client, '/webhook_deliveries', omitUndefined({ state }), paging), COLUMNS);
}

export async function getWebhook({ client }: Service, out: Output, callId: string): Promise<void> {
  const delivery = await client.get('/webhook_deliveries/{call_id}', { params: { call_id: callId } });
  const { attempt_log: attempts, ...shown } = delivery;
  await out.record('', delivery, shown);
  if (!out.json) await out.table(attempts, ATTEMPT_COLUMNS);
}

export async function redeliverWebhook({ client }: Service, out: Output, callId: string): Promise<void> {
  const response = await client.post('/webhook_deliveries/{call_id}/redeliver', { params: { call_id: callId } });
  await out.record(`Redelivery started. See: callwright webhooks get ${callId}`, response);
}
