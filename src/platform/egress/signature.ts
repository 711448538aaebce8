import { createHmac } from 'node:crypto';

/**
 * Returns the `webhook-signature` header of Standard Webhooks: HMAC-SHA256 over `<id>.<timestamp>.<body>`, one
 * signature per key. During a rotation, webhook endpoints may therefore check with either secret. Empty without keys.
 * @param p.timestamp seconds since 1970, as in the `webhook-timestamp` header
 */
export function signatureHeader(p: { keys: readonly Buffer[]; id: string; timestamp: string; body: string }): string {
  const signed = `${p.id}.${p.timestamp}.${p.body}`;
  return p.keys.map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`).join(' ');
}
