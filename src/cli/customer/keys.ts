import type { Output } from '../output.js';
import { KEY_TABLE } from '../tables.js';
import type { Service } from './service.js';

export async function createKey(
  { client }: Service,
  out: Output,
  { name, expires }: { name: string; expires?: Date },
): Promise<void> {
  const body = { name, ...(expires === undefined ? {} : { expires_at: expires.toISOString() }) };
  const sentence = 'Key created. It is shown only once; store it in a safe place.';
  await out.record(sentence, await client.post('/api_keys', { body }));
}

export async function listKeys({ client }: Service, out: Output): Promise<void> {
  await out.page(await client.get('/api_keys'), KEY_TABLE);
}

export async function renameKey({ client }: Service, out: Output, keyId: string, name: string): Promise<void> {
  const params = { key_id: keyId };
  await out.record('Key renamed.', await client.patch('/api_keys/{key_id}', { params, body: { name } }));
}

export async function revokeKey({ client }: Service, out: Output, keyId: string): Promise<void> {
  const key = await client.delete('/api_keys/{key_id}', { params: { key_id: keyId } });
  await out.record('Key revoked. Requests with it are rejected from now on.', key);
}
