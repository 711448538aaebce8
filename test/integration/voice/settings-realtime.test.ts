import type { ConversationSettings } from '../../../src/kernel/conversation/conversation-settings.js';
import { placeRealtimeCall, type RealtimeCall } from './support/realtime-call';

const KEYTERMS = ['Callwright', 'Dr. Nguyen'];

describe('an agent’s settings on the wire to OpenAI Realtime', () => {
  let call: RealtimeCall;
  afterEach(() => call.close());

  /** Places a call. @returns the settings with which its session began, and those that were ignored */
  async function place(settings: ConversationSettings, env: Record<string, string> = {}) {
    call = await placeRealtimeCall({ call: { settings }, env });
    await call.greeted();
    const { ignoredSettings = [] } = await call.line.hangUp();
    expect(call.fake.sessions.map(({ errors }) => errors)).toEqual([[]]);
    const [session] = call.fake.sessions;
    const { audio, reasoning } = session?.events[0]?.session ?? {};
    return { model: session?.model, input: audio?.input, output: audio?.output, reasoning, ignored: ignoredSettings };
  }

  it('are the service’s without settings of the agent', async () => {
    const { model, input, output, reasoning, ignored } = await place({});
    expect(model).toMatch(/^gpt-realtime/);
    expect(input?.turn_detection).toEqual({
      type: 'server_vad',
      prefix_padding_ms: 300,
      silence_duration_ms: 500,
      create_response: true,
      interrupt_response: false,
    });
    expect([input?.noise_reduction, output?.speed, reasoning, ignored]).toEqual([undefined, undefined, undefined, []]);
  });

  it('name the model, the voice, the speed, the noise reduction and the reasoning effort', async () => {
    const sent = await place({
      model: 'gpt-realtime-2',
      voiceId: 'sage',
      speechSpeed: 1.1,
      noiseReduction: 'far_field',
      reasoningEffort: 'low',
    });
    expect(sent).toMatchObject({
      model: 'gpt-realtime-2',
      input: { noise_reduction: { type: 'far_field' } },
      output: { voice: 'sage', speed: 1.1 },
      reasoning: { effort: 'low' },
      ignored: [],
    });
  });

  it('name a custom voice of the account by its id', async () => {
    const { output } = await place({ voiceId: 'voice_1234' });
    expect(output?.voice).toEqual({ id: 'voice_1234' });
  });

  it('turn noise reduction off, and use the nearest speed', async () => {
    const { input, output } = await place({ noiseReduction: 'off', speechSpeed: 2 });
    expect([input?.noise_reduction, output?.speed]).toEqual([null, 1.5]);
  });

  it('name the silence that ends a turn and the threshold of voice', async () => {
    const { input, ignored } = await place(
      { endOfTurnSilenceMs: 900, vadThreshold: 0.7 },
      { OPENAI_TURN_DETECTION: 'semantic_vad' },
    );
    expect(input?.turn_detection).toMatchObject({ type: 'server_vad', silence_duration_ms: 900, threshold: 0.7 });
    expect(ignored).toEqual([]);
  });

  it('name the eagerness, which replaces detection by silence', async () => {
    const { input, ignored } = await place({ endOfTurnEagerness: 'low', endOfTurnSilenceMs: 900, vadThreshold: 0.7 });
    expect(input?.turn_detection).toEqual({
      type: 'semantic_vad',
      eagerness: 'low',
      create_response: true,
      interrupt_response: false,
    });
    expect(ignored).toEqual(['endOfTurnSilenceMs', 'vadThreshold']);
  });

  it.each([
    ['gpt-transcribe', { keywords: KEYTERMS }],
    ['whisper-1', { prompt: KEYTERMS.join(', ') }],
  ])('name terms to the transcription model %s as it takes them', async (model, expected) => {
    const { input, ignored } = await place({ keyterms: KEYTERMS }, { OPENAI_TRANSCRIPTION_MODEL: model });
    const { keywords, prompt } = input?.transcription ?? {};
    expect({ keywords, prompt }).toEqual({ keywords: undefined, prompt: undefined, ...expected });
    expect(ignored).toEqual([]);
  });

  it('ask the model to continue after a noise, unless they say otherwise', async () => {
    const asks = async (settings: ConversationSettings) => {
      await place(settings);
      return call.fake.sessions[0]?.instructions().includes('- If a noise without words interrupted you');
    };
    expect(await asks({})).toBe(true);
    await call.close();
    expect(await asks({ resumeAfterNoise: false })).toBe(false);
  });

  it('are reported if the engine or the model does not have them', async () => {
    const { ignored } = await place({
      model: 'gpt-realtime-1.5',
      temperature: 0.5,
      reasoningEffort: 'low',
      endOfTurnConfidence: 0.8,
      interruptionMinWords: 2,
    });
    expect(ignored).toEqual(['endOfTurnConfidence', 'interruptionMinWords', 'reasoningEffort', 'temperature']);
  });
});
