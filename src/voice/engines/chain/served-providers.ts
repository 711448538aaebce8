import type { Provider } from './provider-chain.js';
import type { ProviderStage } from './provider-health.js';

/** A provider that served a part of a call. */
export interface ServedProvider {
  stage: ProviderStage;
  /** The provider's protocol, such as `deepgram`. */
  provider: string;
  model: string;
  /** 1 for the first provider of its stage, 2 and more for its alternatives. */
  number: number;
  /** When it began to serve, in ms from the start of the stream. */
  fromMs: number;
}

/** Maximum changes recorded per call, because the size of a document is limited. */
export const MAX_SERVED = 50;

/** Records which providers served a call, each time that another one of a stage takes over. */
export function createServedProviders(now: () => number) {
  const served: ServedProvider[] = [];
  return {
    add({ stage, number, name, model }: Provider<unknown>): void {
      const last = served.findLast((each) => each.stage === stage);
      if (last?.number === number || served.length >= MAX_SERVED) return;
      served.push({ stage, provider: name, model, number, fromMs: Math.round(now()) });
    },
    all: (): ServedProvider[] => [...served],
  };
}
