import type { PipelineSettings } from '../../../../src/platform/config/engines/pipeline-settings.js';
import type { RequestOwner } from '../../../../src/voice/audio/request-queue.js';
import { createProviderHealth } from '../../../../src/voice/engines/chain/provider-health.js';
import { createPipelineEngine } from '../../../../src/voice/engines/pipeline/index.js';
import { createSynthesizer } from '../../../../src/voice/audio/flite.js';
import { createLogger } from '../../../../src/platform/telemetry/logger.js';
import { openFakeChat } from '../fakes/chat-completions';
import { openFakeDeepgram } from '../fakes/deepgram';
import { openFakeTranscriptions } from '../fakes/transcriptions';
import { openFakeElevenLabs } from '../fakes/elevenlabs';
import { openFakeOpenAiSpeech } from '../fakes/voices';
import { CALL } from './contract-call';
import { openEngineLine } from './engine-line';

export type ChainHarness = Awaited<ReturnType<typeof openChains>>;

/**
 * Starts two fake providers for each stage, of different kinds where there are two, and a warmed pipeline engine that
 * goes from the first to the second.
 * @param p.isReversed whether the engine asks the second ones first
 */
export async function openChains({
  prices = {},
  isReversed = false,
}: { prices?: Record<string, number>; isReversed?: boolean } = {}) {
  const first = { stt: await openFakeDeepgram(), chat: await openFakeChat(), tts: await openFakeElevenLabs() };
  const second = { stt: await openFakeTranscriptions(), chat: await openFakeChat(), tts: await openFakeOpenAiSpeech() };
  second.tts.lists.models = ['kokoro'];
  const callers = createSynthesizer();
  const all = [...Object.values(first), ...Object.values(second)];
  const lines: Record<string, unknown>[] = [];
  let skippedMs = 0;
  const health = createProviderHealth(() => performance.now() + skippedMs);
  const factory = createPipelineEngine({
    settings: isReversed ? reversed(settingsOf(first, second)) : settingsOf(first, second),
    prices,
    health,
    logger: createLogger({
      role: 'media',
      level: 'warn',
      destination: { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
    }),
  });
  for (const { chat } of [first, second]) {
    chat.answers.set('[The line is open. Begin to speak.]', { says: 'Hello, this is the clinic.' });
  }
  await factory.warm();

  return {
    first,
    second,
    factory,
    /** Lines of the log. */
    lines,
    /** Lets time pass for the memory of failed providers. */
    pass: (ms: number) => void (skippedMs += ms),
    speak: (text: string) => callers.speak(text, 'rms'),
    dial: (requestOwner?: RequestOwner) =>
      openEngineLine(factory.create(), {
        ...CALL,
        ...(requestOwner === undefined ? {} : { callId: requestOwner.callId, requestOwner }),
        outputTemplate: {},
      }),
    async close(): Promise<void> {
      await factory.close();
      await Promise.all([callers.close(), ...all.map((fake) => fake.close())]);
    },
  };
}

type Fakes = Record<'stt' | 'chat' | 'tts', { port: number }>;

function settingsOf(first: Fakes, second: Fakes): PipelineSettings {
  const http = ({ port }: { port: number }) => `http://127.0.0.1:${port}/v1`;
  const socket = ({ port }: { port: number }) => `ws://127.0.0.1:${port}`;
  const llm = { provider: 'openai', apiKey: 'llm-key', model: 'gpt-6-luna' } as const;
  const voices = { voices: { amber: 'voice-amber' }, defaultVoice: 'voice-amber' };
  return {
    stt: { provider: 'deepgram', baseUrl: socket(first.stt), apiKey: 'stt-key', model: 'nova-3' },
    llm: { ...llm, baseUrl: http(first.chat) },
    tts: {
      provider: 'elevenlabs',
      baseUrl: socket(first.tts),
      apiKey: 'tts-key',
      model: 'test-voice-v2_5',
      ...voices,
    },
    fallbacks: {
      stt: [{ provider: 'openai', baseUrl: http(second.stt), apiKey: '', model: 'whisper-1' }],
      llm: [{ ...llm, baseUrl: http(second.chat) }],
      tts: [{ provider: 'openai', baseUrl: http(second.tts), apiKey: 'tts-key', model: 'kokoro', ...voices }],
    },
  };
}

/** The alternatives as the first providers, and those as the alternatives. */
function reversed({ stt, llm, tts, fallbacks }: PipelineSettings): PipelineSettings {
  const [otherStt, otherLlm, otherTts] = [fallbacks?.stt[0] ?? stt, fallbacks?.llm[0] ?? llm, fallbacks?.tts[0] ?? tts];
  return { stt: otherStt, llm: otherLlm, tts: otherTts, fallbacks: { stt: [stt], llm: [llm], tts: [tts] } };
}
