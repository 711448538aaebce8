import { urlFrom } from '../../kernel/text.js';
/** Characters not allowed in the local part: separators, comments and quotes in mail programs, and invisible ones. */
const NEVER_IN_LOCAL_PART = /[\s,;:()<>[\]"\\@\p{Cc}\p{Cf}\p{Surrogate}]/u;
/** Characters not allowed in the domain, because they have a special meaning in URLs. */
const NEVER_IN_DOMAIN = /[\s%/?#:@[\]\\\p{Cc}\p{Surrogate}]/u;
const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Normalizes an e-mail address, for identity, limits and sending. The local part becomes lower case and NFKC form, the
 * domain as in DNS. Otherwise one person could have several addresses here: mail servers deliver `ada@ｅxample.com` to
 * `ada@example.com`.
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

/** Converts a domain to its form in DNS, as `domainToASCII` of node:url does, which the SDK cannot import. */
function hostOf(domain: string): string | undefined {
  const given = NEVER_IN_DOMAIN.test(domain) ? undefined : urlFrom(`ws://${domain}`);
  // Since version 24, Node.js checks labels in Punycode only if another label is not in ASCII.
  if (given === undefined || urlFrom(`ws://${domain}.é`) === undefined) return undefined;
  const { hostname } = given;
  // Reject IP addresses, which must be in brackets and are not domains.
  return DOMAIN.test(hostname) && !/(?:^|\.)\d+$/.test(hostname) ? hostname : undefined;
}
