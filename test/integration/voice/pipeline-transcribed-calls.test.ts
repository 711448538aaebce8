import { silence, withoutSilence } from '../../support/spoken';
import { eventually } from './support/media-fixture';
import {
  expectContinuationAfterNoise,
  openPipeline,
  waitForGreeting,
  type PipelineHarness,
} from './support/pipeline-harness';

const ANSWER_MS = 20_000;

describe('the pipeline engine with an OpenAI-compatible STT', () => {
  let pipeline: PipelineHarness;
  let line: ReturnType<PipelineHarness['dial']>;
  beforeEach(async () => {
    pipeline = await openPipeline({ sttProvider: 'openai' });
    await pipeline.factory.warm();
  });
  afterEach(async () => {
    await line.hangUp();
    await pipeline.close();
  });

  /** Starts a call and waits until the agent has said its greeting. */
  async function startGreetedCall(script: readonly string[]): Promise<void> {
    pipeline.transcriptions.script(script);
    line = pipeline.dial();
    await waitForGreeting(line);
  }

  it('has each turn transcribed, and counts the seconds of audio that the provider bills', async () => {
    await startGreetedCall(['Yes, that suits me.']);
    line.say(await pipeline.speak('Yes, that suits me.'));
    await eventually(() => line.agentTurns().length === 2 && !line.isPlaying(), ANSWER_MS);
    expect(line.callerTurns()).toEqual(['Yes, that suits me.']);
    const { requests, invalid } = pipeline.transcriptions;
    expect(invalid).toEqual([]);
    expect(requests[0]).toMatchObject({
      authorization: 'Bearer stt-key',
      fields: { file: 'speech.wav', model: 'gpt-transcribe', 'languages[]': 'en', response_format: 'json' },
    });
    const { usage } = await line.hangUp();
    const billed = requests.reduce((sum, { seconds }) => sum + seconds, 0);
    expect(usage?.units['recogniser_seconds']).toBe(Math.round(billed));
    expect(billed).toBeLessThan(line.now() / 2_000);
    const [latency] = line.latencies;
    const { recogniser = NaN, model = NaN, voice = NaN, own = NaN } = latency?.parts ?? {};
    expect(Math.abs(recogniser + model + voice + own - (latency?.totalMs ?? 0))).toBeLessThanOrEqual(4);
  });

  it('reverts an early reply if the turn continues after a pause, and replies to the whole turn', async () => {
    pipeline.chat.answers.set('Tomorrow', { says: 'This must never be heard.' });
    pipeline.chat.answers.set('Tomorrow or the day after.', { says: 'Which of the two?' });
    await startGreetedCall(['Tomorrow | or the day after.']);
    const [first, second] = [await pipeline.speak('Tomorrow'), await pipeline.speak('Or the day after.')];
    const before = pipeline.chat.requests.length;
    line.say(Buffer.concat([withoutSilence(first), silence(480), withoutSilence(second)]));
    await eventually(() => line.agentTurns().length === 2 && !line.isPlaying(), ANSWER_MS);
    expect(line.callerTurns()).toEqual(['Tomorrow or the day after.']);
    expect(line.agentTurns()[1]).toBe('Which of the two?');
    const asked = pipeline.chat.requests.slice(before).map(({ messages }) => messages.at(-1)?.content);
    expect(asked).toContain('Tomorrow');
  });

  it('does not end a turn by its first words if the caller speaks on for longer than 7 s', async () => {
    await startGreetedCall(['Well | it is a long story.']);
    const well = withoutSilence(await pipeline.speak('Well'));
    const story = withoutSilence(await pipeline.speak('it is a long story'));
    const before = pipeline.chat.requests.length;
    line.say(Buffer.concat([well, silence(580), ...Array.from({ length: 10 }, () => story)]));
    await eventually(() => line.agentTurns().length === 2, 30_000);
    const asked = pipeline.chat.requests.slice(before).map(({ messages }) => messages.at(-1)?.content);
    expect(asked.at(-1)).toBe('Well it is a long story.');
    expect(line.callerTurns()).toEqual(['Well it is a long story.']);
  });

  it('continues after a noise that interrupted, because the transcript has no words', async () => {
    pipeline.transcriptions.script(['']);
    line = pipeline.dial();
    await expectContinuationAfterNoise(pipeline, line);
  });

  it('speaks a filler during a stall and has the turn transcribed again', async () => {
    pipeline.transcriptions.faults.push({ kind: 'stall' });
    await startGreetedCall(['Yes, that suits me.']);
    line.say(await pipeline.speak('Yes, that suits me.'));
    await eventually(() => line.agentTurns().length === 3, ANSWER_MS);
    expect(line.agentTurns().slice(1)).toEqual(['One moment, please.', 'I see.']);
    expect(line.callerTurns()).toEqual(['Yes, that suits me.']);
  });

  it('apologises after a second failure, and fails the call when the apology was played', async () => {
    pipeline.transcriptions.faults.push({ kind: 'garbage', text: '<html>' }, { kind: 'status', status: 401 });
    await startGreetedCall(['Never understood.']);
    line.say(await pipeline.speak('Yes, that suits me.'));
    await eventually(() => line.failed !== undefined, ANSWER_MS);
    expect(line.failed?.message).toBe('the speech-to-text provider responded with status 401');
    expect(line.agentTurns().at(-1)).toMatch(/^I am sorry/);
  });

  it('aborts the transcription when the caller hangs up', async () => {
    pipeline.transcriptions.delayMs = 2_500;
    await startGreetedCall(['Too late.']);
    line.say(await pipeline.speak('Yes, that suits me.'));
    await eventually(() => pipeline.transcriptions.requests.length === 1, ANSWER_MS);
    const { usage } = await line.hangUp();
    await eventually(() => pipeline.transcriptions.abandoned === 1, 1_000);
    expect(usage?.units['recogniser_seconds']).toBeGreaterThan(0);
    expect(line.callerTurns()).toEqual([]);
  });
});
