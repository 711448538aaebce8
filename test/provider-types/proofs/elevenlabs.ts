import type { AudioOutputMulti } from '@elevenlabs/elevenlabs-js/serialization/types/AudioOutputMulti';
import type { CloseContext } from '@elevenlabs/elevenlabs-js/serialization/types/CloseContext';
import type { CloseSocket } from '@elevenlabs/elevenlabs-js/serialization/types/CloseSocket';
import type { FinalOutputMulti } from '@elevenlabs/elevenlabs-js/serialization/types/FinalOutputMulti';
import type { FlushContext } from '@elevenlabs/elevenlabs-js/serialization/types/FlushContext';
import type { InitializeConnectionMulti } from '@elevenlabs/elevenlabs-js/serialization/types/InitializeConnectionMulti';
import type {
  MultiContextMessage,
  SentMultiContextAnswer,
} from '../../../src/voice/engines/pipeline/tts/elevenlabs/messages.js';
import type { FakeMultiContextAnswer } from '../../integration/voice/fakes/elevenlabs.js';
import type { Nothing, Reads, Sends } from './compare.js';

// `Raw` is the form on the wire. The SDK's other types have their names in camel case.
type Messages = InitializeConnectionMulti.Raw | FlushContext.Raw | CloseContext.Raw | CloseSocket.Raw;
type Answers = AudioOutputMulti.Raw | FinalOutputMulti.Raw;

export type Requests = Nothing<Sends<MultiContextMessage, Messages>>;
export type Responses = Nothing<Reads<Answers, SentMultiContextAnswer>>;
export type FakeAnswers = Nothing<Sends<FakeMultiContextAnswer, Answers>>;

/** These must not compile. */
export type Wrong = [
  // @ts-expect-error The context is missing.
  Sends<{ close_context: true }, Messages>,
  // @ts-expect-error The field has the wrong case.
  Nothing<Sends<{ contextId: string; close_context: true }, Messages>>,
  // @ts-expect-error The decoder requires a field that may be null.
  Reads<AudioOutputMulti.Raw, { alignment: { chars: string[] } }>,
];
