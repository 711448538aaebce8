import { createSynthesizer } from '../../../../src/voice/audio/flite.js';
import type { PipelineSettings } from '../../../../src/platform/config/engines/pipeline-settings.js';
import { createPipelineEngine, type PipelineTimeouts } from '../../../../src/voice/engines/pipeline/index.js';
import type { EngineCall, ToolResult, ToolCall } from '../../../../src/voice/engines/port.js';
import type { SilenceTimeouts } from '../../../../src/voice/session/silence-timeouts.js';
import { createLogger } from '../../../../src/platform/telemetry/logger.js';
import { openFakeChat } from '../fakes/chat-completions';
import { openFakeDeepgram } from '../fakes/deepgram';
import { openFakeResponses } from '../fakes/responses';
import { openFakeTranscriptions } from '../fakes/transcriptions';
import { openFakeElevenLabs } from '../fakes/elevenlabs';
import { openFakeOpenAiSpeech } from '../fakes/voices';
import { openEngineLine, type EngineLine } from './engine-line';
import { eventually } from './media-fixture';

export const GREETING = 'Hello, this is the AI assistant of the clinic. I am calling about tomorrow at ten.';
const ANSWER_MS = 30_000;
const GREETED_BY = '[The line is open. Begin to speak.]';

export interface PipelineOptions {
  sttModel?: string;
  /** `openai`: the fake `transcriptions` transcribes; otherwise the fake `stt`. */
  sttProvider?: 'deepgram' | 'openai';
  /** `openai-responses`: the fake `responses` replies; otherwise the fake `chat`. */
  llmProvider?: 'openai' | 'openai-responses';
  voiceProvider?: 'elevenlabs' | 'openai';
  silence?: Partial<SilenceTimeouts>;
  timeouts?: PipelineTimeouts;
  prices?: Record<string, number>;
  /** Changes to the settings of the chat model. */
  llm?: Partial<PipelineSettings['llm']>;
}

export type PipelineHarness = Awaited<ReturnType<typeof openPipeline>>;

/** Starts the three fake providers on this machine, and an engine that uses them and is already warmed up. */
export async function openPipeline(options: PipelineOptions = {}) {
  const provider = options.voiceProvider ?? 'elevenlabs';
  const stt = await openFakeDeepgram();
  const transcriptions = await openFakeTranscriptions();
  transcriptions.key = 'stt-key';
  const chat = await openFakeChat();
  const responses = await openFakeResponses(chat);
  const tts = await (provider === 'elevenlabs' ? openFakeElevenLabs() : openFakeOpenAiSpeech());
  const callers = createSynthesizer();
  chat.answers.set(GREETED_BY, { says: GREETING });
  chat.answers.set('[The line is back. Continue.]', { says: 'Sorry, the line broke for a moment.' });
  const settings: PipelineSettings = {
    stt: {
      provider: options.sttProvider ?? 'deepgram',
      baseUrl:
        options.sttProvider === 'openai' ? `http://127.0.0.1:${transcriptions.port}/v1` : `ws://127.0.0.1:${stt.port}`,
      apiKey: 'stt-key',
      model: options.sttModel ?? (options.sttProvider === 'openai' ? 'gpt-transcribe' : 'nova-3'),
    },
    llm: {
      provider: options.llmProvider ?? 'openai',
      baseUrl: `http://127.0.0.1:${options.llmProvider === 'openai-responses' ? responses.port : chat.port}/v1`,
      apiKey: 'llm-key',
      model: 'gpt-6-luna',
      ...options.llm,
    },
    tts: {
      provider,
      baseUrl: provider === 'elevenlabs' ? `ws://127.0.0.1:${tts.port}` : `http://127.0.0.1:${tts.port}/v1`,
      apiKey: 'tts-key',
      model: 'test-voice-v2_5',
      voices: { amber: 'voice-amber' },
      defaultVoice: 'voice-default',
    },
  };
  const factory = createPipelineEngine({
    settings,
    prices: options.prices ?? {},
    logger: createLogger({ role: 'media', level: process.env['TEST_LOG_LEVEL'] ?? 'silent' }),
    ...(options.silence === undefined ? {} : { silence: options.silence }),
    ...(options.timeouts === undefined ? {} : { timeouts: options.timeouts }),
  });

  return {
    stt,
    transcriptions,
    chat,
    responses,
    tts,
    factory,
    speak: (text: string) => callers.speak(text, 'rms'),
    hang: () => [stt, transcriptions, chat, responses, tts].forEach((fake) => fake.hang()),
    kill: () => [stt, transcriptions, chat, responses, tts].forEach((fake) => fake.kill()),
    dial(changes: Partial<EngineCall> = {}, answerTool?: (call: ToolCall) => Promise<ToolResult> | ToolResult) {
      const engine = factory.create();
      return Object.assign(openEngineLine(engine, { ...CALL, ...changes }, answerTool), { engine });
    },
    async close(): Promise<void> {
      await factory.close();
      await Promise.all([
        callers.close(),
        stt.close(),
        transcriptions.close(),
        chat.close(),
        responses.close(),
        tts.close(),
      ]);
    },
  };
}

/** Waits until the agent has said its greeting. */
export async function waitForGreeting(line: EngineLine): Promise<void> {
  await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
}

/** Interrupts the greeting by a noise, in which STT finds no words. The agent must continue. */
export async function expectContinuationAfterNoise({ chat, speak }: PipelineHarness, line: EngineLine): Promise<void> {
  const afterNoise = '[The other person made a noise, without words. Continue where you stopped.]';
  chat.answers.set(afterNoise, { says: 'As I said, it is about tomorrow at ten.' });
  await eventually(() => line.heard.length > 60, ANSWER_MS);
  line.say(await speak('Oh my!'));
  await eventually(() => line.agentTurns().length === 2 && !line.isPlaying(), ANSWER_MS);
  expect(line.agentTurns()[0]).toMatch(/\(interrupted\)$/);
  expect(line.agentTurns()[1]).toBe('As I said, it is about tomorrow at ten.');
  expect(line.callerTurns()).toEqual([]);
}

const CALL: EngineCall = {
  callId: 'call_pipeline',
  instruction: 'Confirm the appointment of tomorrow at ten.',
  voice: 'amber',
  language: 'en-US',
  inputParameters: {},
  outputTemplate: { confirmed: false, note: null },
  direction: 'outbound',
  disclosesAi: true,
  voicemail: { action: 'continue' },
  tools: [
    {
      name: 'end_call',
      description: 'Ends the call after a goodbye.',
      parameters: { type: 'object', properties: {}, additionalProperties: false },
    },
    {
      name: 'look_up',
      description: 'Looks up the appointment.',
      parameters: { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] },
    },
  ],
};
