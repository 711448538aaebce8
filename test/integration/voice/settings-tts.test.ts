import { Agent } from 'undici';
import type { ConversationSettings } from '../../../src/kernel/conversation/conversation-settings.js';
import { createPreparedPhrases } from '../../../src/voice/engines/pipeline/prepared-phrases.js';
import type { TextToSpeech, TtsOptions } from '../../../src/voice/engines/pipeline/ports.js';
import { createTts } from '../../../src/voice/engines/pipeline/providers/create-providers.js';
import { openFakeElevenLabs } from './fakes/elevenlabs';
import { openFakeOpenAiSpeech, type FakeVoice } from './fakes/voices';
import { eventually } from './support/media-fixture';

describe.each(['elevenlabs', 'openai'] as const)('an agent’s settings on the wire to TTS_PROVIDER=%s', (provider) => {
  const dispatcher = new Agent();
  let fake: FakeVoice;
  let voice: TextToSpeech;
  let ignored: string[];
  beforeEach(async () => {
    fake = await (provider === 'elevenlabs' ? openFakeElevenLabs() : openFakeOpenAiSpeech());
    const baseUrl = provider === 'elevenlabs' ? `ws://127.0.0.1:${fake.port}` : `http://127.0.0.1:${fake.port}/v1`;
    const account = {
      provider,
      baseUrl,
      apiKey: 'tts-key',
      model: 'test-voice-v2_5',
      voices: { amber: 'voice-amber' },
      defaultVoice: undefined,
    };
    voice = createTts(account, { dispatcher });
  });
  afterEach(() => fake.close());
  afterAll(() => dispatcher.destroy());

  async function say(settings: ConversationSettings): Promise<{ voice: unknown; speed: unknown }> {
    let isOver = false;
    ignored = [];
    const stream = voice.open(
      { voice: 'amber', language: 'en-US', settings, onIgnored: (names) => void ignored.push(...names) },
      {
        onAudio: () => undefined,
        onSpoken: () => undefined,
        onDone: () => void (isOver = true),
        onLost: () => void (isOver = true),
      },
    );
    stream.say('Hello.');
    stream.finish();
    await eventually(() => isOver);
    expect(fake.invalid).toEqual([]);
    const opening = fake.openings.at(-1) ?? {};
    if (provider === 'openai') return { voice: opening['voice'], speed: opening['speed'] };
    const { speed } = (opening['voice_settings'] ?? {}) as { speed?: number };
    return { voice: fake.urls.at(-1)?.pathname.split('/')[3], speed };
  }

  it('sends the id and the usual speed of the agent’s voice without settings', async () => {
    expect(await say({})).toEqual({ voice: 'voice-amber', speed: undefined });
  });

  it('sends the voice id and the speed of the settings', async () => {
    expect(await say({ voiceId: 'voice-default', speechSpeed: 1.1 })).toEqual({ voice: 'voice-default', speed: 1.1 });
  });

  it('sends the nearest speed that the provider has, and reports that it differs', async () => {
    const [slow, fast] = provider === 'elevenlabs' ? [0.7, 1.2] : [0.5, 2];
    const differs = provider === 'elevenlabs' ? ['speechSpeed'] : [];
    expect([(await say({ speechSpeed: 0.5 })).speed, ignored]).toEqual([slow, differs]);
    expect([(await say({ speechSpeed: 2 })).speed, ignored]).toEqual([fast, differs]);
    expect([(await say({ speechSpeed: 1.1 })).speed, ignored]).toEqual([1.1, []]);
  });

  it('prepares phrases for each voice id and speed', async () => {
    const prepared = createPreparedPhrases({ ...voice, number: () => 1 });
    const options = (settings: ConversationSettings): TtsOptions => ({ voice: 'amber', language: 'en-US', settings });
    const choices = [{}, { voiceId: 'voice-default' }, { speechSpeed: 1.1 }].map(options);
    for (const each of choices) prepared.prepare(each);
    for (const each of choices) prepared.prepare(each);
    await eventually(() => fake.texts.length === 9);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(fake.texts).toHaveLength(9);
    await prepared.close();
  });
});
