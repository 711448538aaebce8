import { timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { completionEventId } from '../../kernel/ids.js';
import { signatureHeader } from '../../platform/egress/signature.js';
import { CliError, EXIT_USAGE } from '../run.js';

const TOLERANCE_S = 300;

/**
 * Decodes the key of a Standard Webhooks secret (`whsec_…`).
 * @throws CliError when the secret is malformed
 */
export function keyOfSecret(secret: string): Buffer {
  const [, encoded = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret.trim()) ?? [];
  if (encoded === '')
    throw new CliError('CALLWRIGHT_WEBHOOK_SECRET must be a secret that begins with whsec_.', EXIT_USAGE);
  return Buffer.from(encoded, 'base64');
}

/**
 * Whether a delivery has a signature made with this key and a timestamp within five minutes of `now` (ms since the
 * epoch).
 */
export function isSignedBy(key: Buffer, headers: IncomingHttpHeaders, body: string, now = Date.now()): boolean {
  const id = textOf(headers['webhook-id']);
  const timestamp = textOf(headers['webhook-timestamp']);
  if (!(Math.abs(now / 1_000 - Number(timestamp || Number.NaN)) <= TOLERANCE_S)) return false;
  const expected = Buffer.from(signatureHeader({ keys: [key], id, timestamp, body }));
  return textOf(headers['webhook-signature'])
    .split(' ')
    .map((given) => Buffer.from(given))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}

/** Whether the `webhook-id` of a delivery is that of the completion event of the call in its body. */
export function isEventOfItsCall(headers: IncomingHttpHeaders, body: unknown): boolean {
  const callId = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)['call_id'] : undefined;
  return typeof callId === 'string' && headers['webhook-id'] === completionEventId(callId);
}

function textOf(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : '';
}
