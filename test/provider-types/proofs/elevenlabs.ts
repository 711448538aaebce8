import type { AudioOutput } from '@elevenlabs/elevenlabs-js/serialization/types/AudioOutput';
import type { CloseConnection } from '@elevenlabs/elevenlabs-js/serialization/types/CloseConnection';
import type { FinalOutput } from '@elevenlabs/elevenlabs-js/serialization/types/FinalOutput';
import type { InitializeConnection } from '@elevenlabs/elevenlabs-js/serialization/types/InitializeConnection';
import type { SendText } from '@elevenlabs/elevenlabs-js/serialization/types/SendText';
import type { SentStreamInputAnswer, StreamInputMessage } from '../../../src/voice/engines/pipeline/tts/elevenlabs.js';
import type { FakeStreamInputAnswer } from '../../integration/voice/fakes/voices.js';
import type { Nothing, Reads, Sends } from './compare.js';

// `Raw` is the form on the wire. The SDK's other types have their names in camel case.
type Messages = InitializeConnection.Raw | SendText.Raw | CloseConnection.Raw;
type Answers = AudioOutput.Raw | FinalOutput.Raw;

export type Requests = Nothing<Sends<StreamInputMessage, Messages>>;
export type Responses = Nothing<Reads<Answers, SentStreamInputAnswer>>;
export type FakeAnswers = Nothing<Sends<FakeStreamInputAnswer, Answers>>;

/** These must not compile. */
export type Wrong = [
  // @ts-expect-error The text is missing.
  Sends<{ flush: true }, Messages>,
  // @ts-expect-error The field has the wrong case.
  Nothing<Sends<{ text: string; tryTriggerGeneration: true }, Messages>>,
  // @ts-expect-error The decoder requires a field that may be null.
  Reads<AudioOutput.Raw, { alignment: { chars: string[] } }>,
];
