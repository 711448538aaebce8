import { withoutTrailing } from '../../../../kernel/text.js';

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
export function listenUrl(account: DeepgramAccount, path: string, parameters: Record<string, string>): string {
  const url = new URL(withoutTrailing(account.baseUrl, '/') + path);
  const common: ListenQuery = { model: account.model, encoding: 'mulaw', sample_rate: '8000' };
  const all = { ...common, ...parameters };
  for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
  return url.href;
}
