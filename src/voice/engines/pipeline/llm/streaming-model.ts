import type { Dispatcher } from 'undici';
import { serverSentEvents, type ServerSentEvent } from '../../../../kernel/server-sent-events.js';
import type { ChatSettings } from '../../../models/chat-client.js';
import { ProviderError, type ChatDelta, type ChatModel, type ToolRequest } from '../ports.js';
import type { createModelChoices } from './model-choice.js';
import { accepted, postToModel, reportedFault, toModelError, watchSilence } from './model-stream.js';

/** How long a stream may send no event before the request fails, in ms. */
const LLM_TIMEOUT_MS = 6_000;

export interface ModelStreamDeps {
  dispatcher: Dispatcher;
  timeoutMs?: number;
  /** Time from the request to the first word or tool call; without it, only silence counts. */
  firstWithinMs?: number;
}

/** The events of a response, and what their reader reports and throws. */
export interface ModelEvents {
  events: AsyncIterable<ServerSentEvent>;
  /** Call this when the first word or tool call has arrived. */
  begun: () => void;
  /** The error of a failure that the stream reports. */
  errorOf: (fault: unknown) => ProviderError;
}

/** Yields the words and the usage; returns the tool calls, or undefined if the response has no end. */
export type ModelParts = AsyncGenerator<ChatDelta, readonly ToolRequest[] | undefined>;

/**
 * A model whose responses are streams of events: sends the request, watches the time, and converts errors.
 * @param p.bodyOf the request without the model and its parameters, which `choices` adds
 */
export function createStreamingModel(p: {
  account: ChatSettings;
  deps: ModelStreamDeps;
  path: string;
  choices: ReturnType<typeof createModelChoices>;
  bodyOf(request: Pick<Parameters<ChatModel['stream']>[0], 'messages' | 'tools' | 'mayCallTools'>): object;
  read(events: ModelEvents): ModelParts;
}): ChatModel {
  const { account, deps, path } = p;
  return {
    async *stream({ settings = {}, onIgnored, signal, ...request }) {
      const watch = watchSilence(signal, deps.timeoutMs ?? LLM_TIMEOUT_MS, deps.firstWithinMs);
      let requests: readonly ToolRequest[] | undefined;
      try {
        const body = p.bodyOf(request);
        const post = (fields: object) =>
          postToModel({
            account,
            path,
            body: { ...fields, ...body },
            signal: watch.signal,
            dispatcher: deps.dispatcher,
          });
        const response = await accepted(await p.choices.send(settings, post, onIgnored), account, body);
        requests = yield* p.read({
          events: watched(response.body as AsyncIterable<Uint8Array>, watch),
          begun: watch.begun,
          errorOf: (fault) => reportedFault(response, account, fault, body),
        });
      } catch (error) {
        throw toModelError(error, watch.signal);
      } finally {
        watch.stop();
      }
      if (requests === undefined) throw new ProviderError('model', 'ended the stream early');
      for (const request of requests) yield { kind: 'tool', request };
    },
  };
}

async function* watched(body: AsyncIterable<Uint8Array>, watch: ReturnType<typeof watchSilence>) {
  for await (const event of serverSentEvents(body)) {
    watch.alive();
    yield event;
  }
}
