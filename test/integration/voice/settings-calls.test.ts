import type { ConversationSettings } from '../../../src/kernel/conversation/conversation-settings.js';
import { decodeMulaw, encodeMulaw } from '../../../src/voice/audio/mulaw.js';
import { createOfflineEngine } from '../../../src/voice/engines/offline/index.js';
import { CALL } from './support/contract-call';
import { openEngineLine } from './support/engine-line';
import { eventually } from './support/media-fixture';
import { openPipeline, type PipelineHarness } from './support/pipeline-harness';
import { placeRealtimeCall } from './support/realtime-call';

const ANSWER_MS = 30_000;
const FIRST_MESSAGE = 'Hello {{name}}, the AI assistant of Nginx speaking.';
const SAID = 'Hello Ada, the AI assistant of Nginx speaking.';
const inputParameters = { name: 'Ada' };

/** The same speech with a thirtieth of its loudness. */
const quieter = (mulaw: Uint8Array) => encodeMulaw(decodeMulaw(mulaw).map((sample) => sample / 30));

describe('a call of the pipeline engine with settings of the agent', () => {
  let pipeline: PipelineHarness;
  let line: ReturnType<PipelineHarness['dial']>;
  beforeAll(async () => {
    pipeline = await openPipeline();
    await pipeline.factory.warm();
  });
  afterEach(() => line.hangUp());
  afterAll(() => pipeline.close());

  function dial(settings: ConversationSettings): void {
    line = pipeline.dial({ inputParameters, settings });
  }

  it('begins with the first message, which the model knows, and pronounces its words', async () => {
    pipeline.stt.script(['Yes, please.']);
    dial({
      firstMessage: FIRST_MESSAGE,
      pronunciations: [{ text: 'Nginx', spoken: 'engine X' }],
      temperature: 0.4,
      noiseReduction: 'off',
    });
    await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
    expect(line.agentTurns()).toEqual([SAID]);
    expect(pipeline.tts.texts).toContain('Hello Ada, the AI assistant of engine X speaking.');
    expect(pipeline.chat.requests).toEqual([]);
    line.say(await pipeline.speak('Yes, please.'));
    await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
    const [, ...messages] = pipeline.chat.requests.at(-1)?.messages ?? [];
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', '[The line is open. Begin to speak.]'],
      ['assistant', SAID],
      ['user', 'Yes, please.'],
    ]);
    expect((await line.hangUp()).ignoredSettings).toEqual(['noiseReduction']);
  });

  it.each([
    [0, true],
    [0.9, false],
  ])(
    'is interrupted by a quiet voice if voice activity detection needs a certainty of %s: %s',
    async (vadThreshold, isHeard) => {
      const long = 'This is a long sentence, which takes its time, so that somebody can interrupt it.';
      dial({ firstMessage: `${long} ${long}`, vadThreshold });
      await eventually(() => line.isPlaying(), ANSWER_MS);
      line.say(quieter(await pipeline.speak('Yes, please. Tell me, when is it?')));
      await eventually(() => line.clears() > 0 || !line.callerSpeaks(), ANSWER_MS);
      expect(line.clears() > 0).toBe(isHeard);
      expect((await line.hangUp()).ignoredSettings).toBeUndefined();
    },
  );

  it('waits for a caller who is to speak first', async () => {
    pipeline.stt.script(['Hello?']);
    const before = pipeline.chat.requests.length;
    dial({ firstSpeaker: 'caller' });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect([line.agentTurns(), pipeline.chat.requests.length]).toEqual([[], before]);
    line.say(await pipeline.speak('Hello?'));
    await eventually(() => line.agentTurns().length === 1, ANSWER_MS);
    expect(line.callerTurns()).toEqual(['Hello?']);
  });
});

describe('a call of the realtime engine with a first message', () => {
  /** The request that the model says these words. */
  const requestOf = (words: string) => [
    `Say exactly the following, word for word, and nothing else: ⟦${words}⟧`,
    'none',
  ];

  async function place(firstMessage: string, disclosesAi = true) {
    const call = await placeRealtimeCall({ call: { inputParameters, settings: { firstMessage }, disclosesAi } });
    await call.greeted();
    const requests = () =>
      call.sent('response.create').map(({ response }) => [response?.instructions, response?.tool_choice]);
    return { call, requests };
  }

  it('requests exactly this message, once', async () => {
    const { call, requests } = await place(FIRST_MESSAGE);
    await call.ask('Yes, please.');
    await call.close();
    const [first, ...others] = requests();
    expect(first).toEqual(requestOf(SAID));
    expect(others.every(([instructions]) => instructions === undefined)).toBe(true);
  });

  it.each([
    [false, 'Hello Ada.'],
    [true, 'You are speaking with an AI assistant. Hello Ada.'],
  ])('has a message without a disclosure spoken word for word (disclosure required: %s)', async (isRequired, said) => {
    const { call, requests } = await place('Hello {{name}}.', isRequired);
    const [spoken] = call.line.agentTurns();
    await call.close();
    expect([requests()[0], spoken]).toEqual([requestOf(said), said]);
  });
});

describe('a call of the demo engine with settings of the agent', () => {
  it('begins with the first message, and reports the settings that it does not have', async () => {
    const factory = createOfflineEngine();
    await factory.warm();
    const settings = { firstMessage: FIRST_MESSAGE, temperature: 0.4 };
    const line = openEngineLine(factory.create(), { ...CALL, inputParameters, settings });
    await eventually(() => line.agentTurns().length >= 1, ANSWER_MS);
    const { ignoredSettings } = await line.hangUp();
    await factory.close();
    expect(line.agentTurns()[0]).toMatch(/^Hello Ada, the AI assistant of Nginx speaking\./);
    expect(ignoredSettings).toEqual(['temperature']);
  });
});
