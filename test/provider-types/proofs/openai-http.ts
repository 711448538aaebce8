import type { SpeechCreateParams } from 'openai/resources/audio/speech';
import type { Transcription } from 'openai/resources/audio/transcriptions';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionCreateParams,
} from 'openai/resources/chat/completions/completions';
import type { TranscriptionCreateParams } from 'openai/resources/audio/transcriptions';
import type { transcriptionHints } from '../../../src/voice/models/transcription-hints.js';
import type { Completion } from '../../../src/voice/models/chat-client.js';
import type { ChatRequest } from '../../../src/voice/models/chat-protocol.js';
import type { SentChatChunk } from '../../../src/voice/engines/pipeline/llm/chat-completions.js';
import type { SentTranscription } from '../../../src/voice/engines/pipeline/stt/openai-transcriptions.js';
import type { OpenAiSpeechRequest } from '../../../src/voice/engines/pipeline/tts/openai-speech.js';
import type { FakeCompletion, FakeCompletionChunk } from '../../integration/voice/fakes/chat-completions.js';
import type { FakeTranscription } from '../../integration/voice/fakes/transcriptions.js';
import type { Nothing, Reads, Sends } from './compare.js';

export type ChatRequests = Nothing<Sends<ChatRequest, ChatCompletionCreateParams>>;
export type ChatChunks = Nothing<Reads<ChatCompletionChunk, SentChatChunk>>;
export type ChatAnswers = Nothing<Reads<ChatCompletion, Completion>>;
export type TranscriptionHints = Nothing<
  Sends<NonNullable<ReturnType<typeof transcriptionHints>>, Pick<TranscriptionCreateParams, 'keywords' | 'prompt'>>
>;
export type SpeechRequests = Nothing<Sends<OpenAiSpeechRequest, SpeechCreateParams>>;

export type Transcriptions = Nothing<Reads<Transcription, SentTranscription>>;

export type FakeTranscriptions = Nothing<Sends<FakeTranscription, Transcription>>;
export type FakeChunks = Nothing<Sends<FakeCompletionChunk, ChatCompletionChunk>>;
export type FakeAnswers = Nothing<Sends<FakeCompletion, ChatCompletion>>;

/** These must not compile. */
export type Wrong = [
  // @ts-expect-error A tool needs its type.
  Sends<Omit<ChatRequest, 'tools'> & { tools: { function: { name: string } }[] }, ChatCompletionCreateParams>,
  // @ts-expect-error The field is misspelled.
  Nothing<Sends<ChatRequest & { max_output_token?: number }, ChatCompletionCreateParams>>,
  // @ts-expect-error The decoder requires a field that may be absent.
  Reads<ChatCompletionChunk, { usage: object }>,
  // @ts-expect-error The format is unknown.
  Sends<Omit<OpenAiSpeechRequest, 'response_format'> & { response_format: 'ulaw_8000' }, SpeechCreateParams>,
];
