import { createHmac } from 'node:crypto';
import type { Mode } from '../../kernel/ids.js';

/**
 * Derives the key that signs the requests of tools in calls of one mode from a webhook secret. With the webhook secret
 * itself, a test key could have any text signed as if it were a webhook: it decides the URL and the body of a tool's
 * request.
 */
export function toolKeyOf(secret: Buffer, mode: Mode): Buffer {
  return createHmac('sha256', secret).update(`callwright tools ${mode}`).digest();
}
