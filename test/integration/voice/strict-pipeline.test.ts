import { eventually } from './support/media-fixture';
import { GREETING, openPipeline, type PipelineHarness, type PipelineOptions } from './support/pipeline-harness';

const ANSWER_MS = 30_000;
const DAYS = ['Monday', 'Friday'].map((day) => ({ name: 'look_up', arguments: { day } }));

// Habits of the providers that the shortest exchange of messages does not show. The fakes name the sources.
describe('the pipeline engine', () => {
  let pipeline: PipelineHarness;
  let line: ReturnType<PipelineHarness['dial']>;
  afterEach(async () => {
    await line.hangUp();
    await pipeline.close();
  });

  async function call(options: PipelineOptions = {}): Promise<void> {
    pipeline = await openPipeline(options);
    await pipeline.factory.warm();
    pipeline.stt.script(['When is it?', 'And then?']);
  }

  async function ask(): Promise<void> {
    const before = line.agentTurns().length;
    line.say(await pipeline.speak('When is it, please?'));
    await eventually(() => line.agentTurns().length > before && !line.isPlaying(), ANSWER_MS);
  }

  async function greeted(): Promise<void> {
    line = pipeline.dial();
    await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
  }

  describe.each(['openai', 'openai-responses'] as const)('with the protocol of %s', (llmProvider) => {
    it('runs tools that the model calls at once, in order, and gives the results to the model', async () => {
      await call({ llmProvider });
      pipeline.chat.answers.set('When is it?', { calls: DAYS });
      await greeted();
      await ask();
      expect(line.tools).toEqual(DAYS);
      expect(line.agentTurns()[1]).toMatch(/^I found this/);
      expect([pipeline.chat.rejected, pipeline.responses.invalid]).toEqual([[], []]);
      expect(line.failures).toEqual([]);
    });

    it('speaks what there is of a reply that reached the limit of its length, and continues', async () => {
      await call({ llmProvider });
      pipeline.chat.answers.set('When is it?', { says: 'It is at ten, and', isCut: true });
      pipeline.chat.answers.set('And then?', { says: 'Then it is over.' });
      await greeted();
      await ask();
      await ask();
      expect(line.agentTurns().slice(1)).toEqual(['It is at ten, and', 'Then it is over.']);
      expect(line.failures).toEqual([]);
    });
  });

  it('reports a tool whose schema the provider rejects', async () => {
    await call();
    line = pipeline.dial({ tools: [{ name: 'broken', description: 'Broken.', parameters: { type: 'object' } }] });
    await eventually(() => line.failed !== undefined, ANSWER_MS);
    expect(line.failures[0]).toMatchObject({
      status: 400,
      code: 'invalid_function_parameters',
      message: "Invalid schema for function 'broken': In context=(), object schema missing properties.",
    });
  });

  it.each([
    ['model', { sttModel: 'nova-9' }, { status: 400, message: 'No such model/language/tier combination found.' }],
    ['model of the other protocol', { sttModel: 'flux-unknown' }, { status: 400 }],
  ])('names an unknown %s of speech to text', async (_, options, failure) => {
    await call(options);
    line = pipeline.dial();
    await eventually(() => line.failed !== undefined, ANSWER_MS);
    expect(line.failures[0]).toMatchObject({ part: 'recogniser', provider: 'deepgram', ...failure });
    expect(line.failures[0]?.requestId).toMatch(/^[\da-f-]{36}$/);
  });

  it('continues when the provider of speech to text has no room for a connection at first', async () => {
    await call();
    pipeline.stt.concurrency = 0;
    line = pipeline.dial();
    await eventually(() => line.failures.length === 1, ANSWER_MS);
    pipeline.stt.concurrency = 100;
    await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
    await ask();
    expect(line.failures).toEqual([expect.objectContaining({ status: 429, code: 'TOO_MANY_REQUESTS' })]);
  });

  it('asks ElevenLabs for the characters of all audio', async () => {
    await call();
    await greeted();
    expect(line.agentTurns()).toEqual([GREETING]);
    expect(pipeline.tts.urls[0]?.searchParams.get('sync_alignment')).toBe('true');
  });
});
