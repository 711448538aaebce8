import type {
  ResponseCompletedEvent,
  ResponseCreateParams,
  ResponseFailedEvent,
  ResponseFunctionCallArgumentsDeltaEvent,
  ResponseIncompleteEvent,
  ResponseOutputItemDoneEvent,
  ResponseRefusalDeltaEvent,
  ResponseStreamEvent,
  ResponseTextDeltaEvent,
} from 'openai/resources/responses/responses';
import type {
  ResponsesRequest,
  SentResponsesFields,
} from '../../../src/voice/engines/pipeline/llm/openai-responses.js';
import type { FakeResponsesEvent } from '../../integration/voice/fakes/responses-events.js';
import type { Nothing, Reads, Sends } from './compare.js';

type Deltas = ResponseTextDeltaEvent | ResponseRefusalDeltaEvent | ResponseFunctionCallArgumentsDeltaEvent;
type Finished = ResponseCompletedEvent | ResponseIncompleteEvent | ResponseFailedEvent;

// An operator may choose an effort that this version of the SDK does not know.
export type Requests = Nothing<Sends<Omit<ResponsesRequest, 'reasoning'>, ResponseCreateParams>>;
export type ReadDeltas = Nothing<Reads<Deltas, SentResponsesFields['delta']>>;
export type ReadItems = Nothing<Reads<ResponseOutputItemDoneEvent, SentResponsesFields['finishedItem']>>;
export type ReadEnds = Nothing<Reads<Finished, SentResponsesFields['finished']>>;

export type FakeEvents = Nothing<Sends<FakeResponsesEvent & { sequence_number: number }, ResponseStreamEvent>>;

/** These must not compile. */
export type Wrong = [
  // @ts-expect-error A tool of this protocol has its name outside of `function`.
  Sends<{ tools: { type: 'function'; function: { name: string } }[] }, ResponseCreateParams>,
  // @ts-expect-error The field belongs to the other protocol.
  Nothing<Sends<Omit<ResponsesRequest, 'reasoning'> & { max_completion_tokens: number }, ResponseCreateParams>>,
  // @ts-expect-error The decoder requires a field that may be absent.
  Reads<Finished, { response: { usage: object } }>,
];
