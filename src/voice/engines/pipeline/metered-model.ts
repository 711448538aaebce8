import { estimateTokens } from '../../models/token-estimate.js';
import { waitAtMost } from '../../session/wait-at-most.js';
import { ProviderError, type ChatDelta, type ChatModel, type ModelUsage } from './ports.js';

type WholeRequest = Parameters<ChatModel['stream']>[0];
type AgentsChoice = Pick<WholeRequest, 'settings' | 'onIgnored'>;
type ChatRequest = Omit<WholeRequest, keyof AgentsChoice>;

export type MeteredModel = ReturnType<typeof meterModel>;

/**
 * Adds the settings of a call's agent to each request to a model, and reports the request's usage; an estimate if the
 * provider reports none.
 */
export function meterModel(model: ChatModel, choice: AgentsChoice, onUsage: (usage: ModelUsage) => void) {
  const running = new Set<Promise<void>>();

  /** @returns a function to call when the request is over */
  function begin(): () => void {
    let end: () => void = () => undefined;
    const over = new Promise<void>((resolve) => (end = resolve));
    running.add(over);
    return () => {
      running.delete(over);
      end();
    };
  }

  async function* stream(request: ChatRequest): AsyncGenerator<ChatDelta> {
    const end = begin();
    let received = '';
    let isCounted = false;
    try {
      for await (const delta of model.stream({ ...request, ...choice })) {
        if (delta.kind === 'usage') {
          isCounted = true;
          onUsage(delta.usage);
          continue;
        }
        if (delta.kind !== 'tool') received += delta.text;
        yield delta;
      }
    } catch (error) {
      isCounted ||= error instanceof ProviderError && error.isUnbilled;
      throw error;
    } finally {
      // Providers bill canceled and failed responses, too, but do not report their usage.
      if (!isCounted) onUsage(estimateUsage(request, received));
      end();
    }
  }

  return {
    stream,
    /** Resolves when the usage of all requests is reported, or after `ms`. Cancel the requests first. */
    async settled(ms: number): Promise<void> {
      if (running.size > 0) await waitAtMost(ms, Promise.all(running));
    },
  };
}

function estimateUsage({ messages, tools }: ChatRequest, received: string): ModelUsage {
  const inputTokens = estimateTokens(JSON.stringify([messages, tools]));
  return { inputTokens, cachedInputTokens: 0, outputTokens: estimateTokens(received) };
}
