import { urlFrom } from '../../kernel/text.js';
/** What mail programs read as more than one address, a comment or a quotation, and what nobody sees. */
const NEVER_IN_LOCAL_PART = /[\s,;:()<>[\]"\\@\p{Cc}\p{Cf}\p{Surrogate}]/u;
/** What a URL gives a meaning of its own. */
const NEVER_IN_DOMAIN = /[\s%/?#:@[\]\\\p{Cc}\p{Surrogate}]/u;
const DOMAIN = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The one spelling of an e-mail address by which people are told apart, limits count and mail is sent: the local part in
 * lower case and Unicode's compatible form, the domain as DNS knows it. Without that, mail servers take `ada@ｅxample.com`
 * for an address that counts as another here.
 * @returns undefined when the text is no e-mail address
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

/** A domain as DNS knows it, the same as `domainToASCII` of node:url, which the SDK cannot import. */
function hostOf(domain: string): string | undefined {
  const given = NEVER_IN_DOMAIN.test(domain) ? undefined : urlFrom(`ws://${domain}`);
  if (given === undefined) return undefined;
  const { hostname } = given;
  // An IP address is written in brackets, and is nobody's domain.
  return DOMAIN.test(hostname) && !/(?:^|\.)\d+$/.test(hostname) ? hostname : undefined;
}
