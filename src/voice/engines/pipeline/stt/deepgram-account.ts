import { withoutTrailing } from '../../../../kernel/text.js';

export interface DeepgramAccount {
  /** `wss://…` of the provider or of a server that speaks its protocol. */
  baseUrl: string;
  apiKey: string;
  /** `flux-…` has turn detection of its own; every other model is taken for one of Nova's kind. */
  model: string;
}

/** The address of a stream of 8 kHz mu-law. */
export function listenUrl(account: DeepgramAccount, path: string, parameters: Record<string, string>): string {
  const url = new URL(withoutTrailing(account.baseUrl, '/') + path);
  const all = { model: account.model, encoding: 'mulaw', sample_rate: '8000', ...parameters };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return url.href;
}
