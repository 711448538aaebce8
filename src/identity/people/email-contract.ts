import { urlFrom } from '../../kernel/text.js';
/** Characters that mail programs interpret as separators, comments or quotes, and invisible ones. */
const NEVER_IN_LOCAL_PART = /[\s,;:()<>[\]"\\@\p{Cc}\p{Cf}\p{Surrogate}]/u;
/** Characters with a special meaning in URLs. */
const NEVER_IN_DOMAIN = /[\s%/?#:@[\]\\\p{Cc}\p{Surrogate}]/u;
const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Normalises an e-mail address, for identity, limits and sending: the local part in lower case and NFKC form, the
 * domain as in DNS. Otherwise mail servers would deliver `ada@ｅxample.com` to an address that counts as a different one
 * here.
 * @returns undefined if the text is not an e-mail address
 */
export function normalEmail(text: string): string | undefined {
  const [local = '', domain = '', ...more] = text.trim().split('@');
  const name = local.normalize('NFKC').toLowerCase();
  if (more.length > 0 || name === '' || NEVER_IN_LOCAL_PART.test(local) || NEVER_IN_LOCAL_PART.test(name)) {
    return undefined;
  }
  const host = hostOf(domain);
  return host === undefined ? undefined : `${name}@${host}`;
}

/** A domain as in DNS, the same as `domainToASCII` of node:url, which the SDK cannot import. */
function hostOf(domain: string): string | undefined {
  const given = NEVER_IN_DOMAIN.test(domain) ? undefined : urlFrom(`ws://${domain}`);
  if (given === undefined) return undefined;
  const { hostname } = given;
  // Reject IP addresses, which must be in brackets and are not domains.
  return DOMAIN.test(hostname) && !/(?:^|\.)\d+$/.test(hostname) ? hostname : undefined;
}
