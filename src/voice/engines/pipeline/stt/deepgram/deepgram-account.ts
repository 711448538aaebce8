import { byteCount, withoutTrailing } from '../../../../../kernel/text.js';
import type { SttOptions } from '../../ports.js';

export interface DeepgramAccount {
  /** `wss://…` of Deepgram or of a compatible server. */
  baseUrl: string;
  apiKey: string;
  /** `flux-…` models detect turns themselves; all others are treated as Nova models. */
  model: string;
}

/** The parameters that both protocols have in common. */
export type ListenQuery = { model: string; encoding: 'mulaw'; sample_rate: '8000' };

/** The URL of a stream of 8 kHz mu-law. */
export function listenUrl(
  account: DeepgramAccount,
  path: string,
  parameters: Record<string, string | string[]>,
): string {
  const url = new URL(withoutTrailing(account.baseUrl, '/') + path);
  const common: ListenQuery = { model: account.model, encoding: 'mulaw', sample_rate: '8000' };
  const all = { ...common, ...parameters };
  for (const [name, value] of Object.entries(all)) {
    // Several terms are sent as several parameters of the same name.
    for (const each of Array.isArray(value) ? value : [value]) url.searchParams.append(name, each);
  }
  return url.href;
}

/**
 * The provider rejects a stream with terms of more than 500 tokens (https://developers.deepgram.com/docs/keyterm). Names and
 * codes have about two bytes per token (deepgram/deepgram-python-sdk#503). Terms beyond that are left out.
 */
const MAX_TERM_BYTES = 1_000;

/** The agent's first terms that the provider accepts together. It reports that it ignores the others. */
export function acceptedTerms({ settings: { keyterms = [] }, onIgnored }: SttOptions): string[] {
  let bytes = 0;
  const accepted = keyterms.filter((term) => (bytes += byteCount(term)) <= MAX_TERM_BYTES);
  if (accepted.length < keyterms.length) onIgnored?.(['keyterms']);
  return accepted;
}
