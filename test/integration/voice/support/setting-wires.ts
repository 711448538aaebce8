import { Agent } from 'undici';
import type { ConversationSettings } from '../../../../src/kernel/conversation/conversation-settings.js';
import { loadVoiceActivity } from '../../../../src/voice/audio/voice-activity.js';
import type { SttEvents } from '../../../../src/voice/engines/pipeline/ports.js';
import { createDeepgramStt } from '../../../../src/voice/engines/pipeline/stt/deepgram/index.js';
import { createOpenAiStt } from '../../../../src/voice/engines/pipeline/stt/openai-transcriptions.js';
import { createLlm, createTts } from '../../../../src/voice/engines/pipeline/providers/create-providers.js';
import { openFakeChat } from '../fakes/chat-completions';
import { openFakeDeepgram } from '../fakes/deepgram';
import { openFakeResponses } from '../fakes/responses';
import { openFakeTranscriptions } from '../fakes/transcriptions';
import { openFakeElevenLabs } from '../fakes/elevenlabs';
import { openFakeOpenAiSpeech } from '../fakes/voices';
import { eventually } from './media-fixture';
import { placeRealtimeCall } from './realtime-call';

/** The fields that a provider received, by short names. A fake that rejected something fails the test. */
export type Wire = Record<string, unknown>;

const nothing = () => undefined;
const EVENTS: SttEvents = {
  onInterim: nothing,
  onProbableEnd: nothing,
  onTurnContinued: nothing,
  onEnd: nothing,
  onActivity: nothing,
  onLost: nothing,
};

/** Lets an adapter speak to the strict fake of its provider, with the settings of an agent, and returns what arrived. */
export const WIRES: Record<string, (settings: ConversationSettings) => Promise<Wire>> = {
  'deepgram-nova': (settings) => deepgram('nova-3', settings),
  'deepgram-flux': (settings) => deepgram('flux-general-en', settings),
  'openai-transcription': transcription,
  'openai-chat': (settings) => llm('openai', settings),
  'openai-responses': (settings) => llm('openai-responses', settings),
  elevenlabs: (settings) => tts('elevenlabs', settings),
  'openai-speech': (settings) => tts('openai', settings),
  'openai-realtime': realtime,
};

async function deepgram(model: string, settings: ConversationSettings): Promise<Wire> {
  const fake = await openFakeDeepgram();
  const account = { baseUrl: `ws://127.0.0.1:${fake.port}`, apiKey: 'stt-key', model };
  const stream = createDeepgramStt(account).open({ language: 'en-US', settings }, EVENTS);
  await eventually(() => fake.urls.length + fake.invalid.length > 0);
  stream.close();
  await fake.close();
  expect(fake.invalid).toEqual([]);
  const query = fake.urls[0]?.searchParams ?? new URLSearchParams();
  return Object.fromEntries([...query.keys()].map((name) => [name, query.getAll(name).join('|')]));
}

async function transcription(settings: ConversationSettings): Promise<Wire> {
  const fake = await openFakeTranscriptions();
  const dispatcher = new Agent();
  const newDetector = await loadVoiceActivity();
  const account = { baseUrl: `http://127.0.0.1:${fake.port}/v1`, apiKey: '', model: 'gpt-transcribe' };
  const stream = createOpenAiStt(account, { dispatcher, newDetector }).open({ language: 'en-US', settings }, EVENTS);
  for (let frame = 0; frame < 100; frame += 1) stream.push(frame < 40 ? VOICE : SILENCE);
  await eventually(() => fake.requests.length + fake.invalid.length > 0);
  stream.close();
  await dispatcher.destroy();
  await fake.close();
  expect(fake.invalid).toEqual([]);
  return fake.requests[0]?.fields ?? {};
}

const SILENCE = new Uint8Array(160).fill(0xff);
/** Loud noise, which voice activity detection takes for a voice. */
const VOICE = Uint8Array.from({ length: 160 }, (_, i) => ((i * 73) % 128) + (i % 2 === 0 ? 0 : 128));

async function llm(provider: 'openai' | 'openai-responses', settings: ConversationSettings): Promise<Wire> {
  const dispatcher = new Agent();
  const chat = await openFakeChat();
  const responses = await openFakeResponses(chat);
  const { port } = provider === 'openai' ? chat : responses;
  const account = { provider, baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'llm-key', model: 'gpt-4.1' };
  // Only models that reason accept an effort, and some accept a temperature only without reasoning.
  const model = settings.reasoningEffort === undefined ? account.model : 'gpt-6-luna';
  const { signal } = new AbortController();
  const messages = [{ role: 'user', content: 'Hello.' } as const];
  const request = { messages, tools: [], mayCallTools: false, settings, signal };
  for await (const _ of createLlm({ ...account, model }, { dispatcher }).stream(request));
  await dispatcher.destroy();
  await responses.close();
  await chat.close();
  expect([...chat.rejected, ...responses.invalid]).toEqual([]);
  const [body] = (provider === 'openai' ? chat.requests : responses.requests) as Wire[];
  const { model: sentModel, temperature, reasoning_effort: effort, reasoning } = body ?? {};
  return { model: sentModel, temperature, effort: effort ?? (reasoning as { effort?: string } | undefined)?.effort };
}

async function tts(provider: 'elevenlabs' | 'openai', settings: ConversationSettings): Promise<Wire> {
  const dispatcher = new Agent();
  const isEleven = provider === 'elevenlabs';
  const fake = await (isEleven ? openFakeElevenLabs() : openFakeOpenAiSpeech());
  if (settings.voiceId !== undefined) fake.lists.voices.push({ voice_id: settings.voiceId });
  const baseUrl = isEleven ? `ws://127.0.0.1:${fake.port}` : `http://127.0.0.1:${fake.port}/v1`;
  const voices = { amber: 'voice-amber' };
  const account = { provider, baseUrl, apiKey: 'tts-key', model: 'test-voice-v2_5', voices, defaultVoice: undefined };
  let isOver = false;
  const over = () => void (isOver = true);
  const stream = createTts(account, { dispatcher }).open(
    { voice: 'amber', language: 'en-US', settings },
    { onAudio: nothing, onSpoken: nothing, onDone: over, onLost: over },
  );
  stream.say('Hello.');
  stream.finish();
  await eventually(() => isOver);
  await dispatcher.destroy();
  await fake.close();
  expect(fake.invalid).toEqual([]);
  const { voice, speed, voice_settings: ofStream } = fake.openings[0] ?? {};
  return {
    voice: isEleven ? fake.urls[0]?.pathname.split('/')[3] : voice,
    speed: isEleven ? (ofStream as { speed?: number } | undefined)?.speed : speed,
  };
}

async function realtime(settings: ConversationSettings): Promise<Wire> {
  const env = { OPENAI_REALTIME_MODEL: 'gpt-realtime-2.1', OPENAI_TRANSCRIPTION_MODEL: 'gpt-transcribe' };
  const call = await placeRealtimeCall({ call: { settings, language: 'en-US' }, env });
  try {
    await eventually(() => call.sent('response.create').length > 0 || call.line.failed !== undefined, 10_000);
    const [session] = call.fake.sessions;
    expect(call.fake.sessions.flatMap(({ errors }) => errors)).toEqual([]);
    const { audio, reasoning, instructions = '' } = session?.events[0]?.session ?? {};
    const { turn_detection: detection, transcription: transcribes, noise_reduction: noise } = audio?.input ?? {};
    return {
      model: session?.model,
      effort: reasoning?.effort,
      voice: audio?.output?.voice,
      speed: audio?.output?.speed,
      keywords: transcribes?.keywords?.join('|'),
      silence: detection?.['silence_duration_ms'],
      threshold: detection?.['threshold'],
      eagerness: detection?.['eagerness'],
      noise: noise?.type,
      firstWords: call.sent('response.create')[0]?.response?.instructions,
      pronounces: instructions.split('\n').find((line) => line.startsWith('- Pronounce')),
    };
  } finally {
    await call.close();
  }
}
