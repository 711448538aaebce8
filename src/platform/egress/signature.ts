import { createHmac } from 'node:crypto';

/**
 * The `webhook-signature` header of Standard Webhooks: HMAC-SHA256 over `<id>.<timestamp>.<body>`, one for each key, so that
 * a receiver may have either while a secret is being replaced. Empty without keys.
 * @param p.timestamp seconds since 1970, as the header says it
 */
export function signatureHeader(p: { keys: readonly Buffer[]; id: string; timestamp: string; body: string }): string {
  const signed = `${p.id}.${p.timestamp}.${p.body}`;
  return p.keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`).join(' ');
}
