import { timingSafeEqual } from 'node:crypto';
import type { Mode } from '../../kernel/ids.js';
import type { Config } from '../../platform/config/config.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { FormFields } from '../../platform/http/form.js';
import { isValidSignature } from './signature.js';

/** 20 bytes of HMAC-SHA1 in base64. */
const SIGNATURE = /^[A-Za-z0-9+/]{27}=$/;

/** Whether the signature of a request could be that of any form, which is told before the form is there. */
export function mayBeSigned(ctx: ApiContext): boolean {
  return SIGNATURE.test(ctx.get('X-Twilio-Signature'));
}

/** The mode whose carrier account signed the request over our configured address; undefined when none did. */
export function signingMode(ctx: ApiContext, form: FormFields, config: Config): Mode | undefined {
  const signature = ctx.get('X-Twilio-Signature') || undefined;
  const url = `${config.publicBaseUrl}${ctx.req.url ?? ''}`;
  for (const mode of ['live', 'test'] as const) {
    const { accountSid, authToken } = config.carriers[mode];
    if (!equal(form['AccountSid'], accountSid)) continue;
    if (isValidSignature({ authToken, signature, url, params: form })) return mode;
  }
  return undefined;
}

function equal(given: string | string[] | undefined, expected: string): boolean {
  const [left, right] = [Buffer.from(String(given)), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
