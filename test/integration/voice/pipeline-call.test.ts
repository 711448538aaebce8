import { silence, tone } from '../../support/spoken';
import { eventually } from './support/media-fixture';
import { expectContinuationAfterNoise, GREETING, openPipeline, waitForGreeting } from './support/pipeline-harness';
import type { PipelineHarness } from './support/pipeline-harness';

const ANSWER_MS = 30_000;

describe('a call conducted by the pipeline engine', () => {
  let pipeline: PipelineHarness;
  let line: ReturnType<PipelineHarness['dial']>;
  beforeAll(async () => {
    pipeline = await openPipeline({
      prices: {
        chat_input_tokens: 2,
        chat_cached_input_tokens: 1,
        chat_output_tokens: 8,
        recogniser_seconds: 100,
        voice_characters: 30,
      },
    });
    await pipeline.factory.warm();
  });
  afterEach(() => line.hangUp());
  afterAll(() => pipeline.close());

  it('returns values and a summary from the model, the usage of the providers, and its price', async () => {
    const { chat } = pipeline;
    chat.values = { value_1: true, value_2: 17 };
    pipeline.stt.script(['Yes, I will come.']);
    line = pipeline.dial({ outputTemplate: { confirmed: false, name: 'text', note: null } });
    await waitForGreeting(line);
    line.say(await pipeline.speak('Yes, I will come.'));
    await eventually(() => line.agentTurns().length === 2 && !line.isPlaying(), ANSWER_MS);
    const answers = chat.requests.length;
    const soFar = line.usage()?.units ?? {};
    const result = await line.hangUp();
    expect(result.summary).toBe('The appointment was talked about.');
    // The output parameter `name` must be a text. The model returns a number, which is not converted, so the value is
    // null.
    expect(result.outputParameters).toEqual({ confirmed: true, name: null, note: null });
    const units = result.usage?.units ?? {};
    expect(units['chat_input_tokens']).toBe(answers * 60 + 200);
    expect(units['chat_cached_input_tokens']).toBe(answers * 40);
    expect(units['voice_characters']).toBeGreaterThanOrEqual(GREETING.length - 1 + 'I see.'.length);
    // Without the conclusion, the same is known during the call.
    expect(soFar['chat_input_tokens']).toBe(answers * 60);
    expect(soFar['voice_characters']).toBe(units['voice_characters']);
    expect((units['recogniser_seconds'] ?? 0) - (soFar['recogniser_seconds'] ?? 0)).toBeLessThan(2);
    expect(Math.abs((units['recogniser_seconds'] ?? 0) - line.now() / 1_000)).toBeLessThan(3);
    const cost =
      (units['chat_input_tokens'] ?? 0) * 2 +
      (units['chat_cached_input_tokens'] ?? 0) +
      (units['chat_output_tokens'] ?? 0) * 8 +
      (units['recogniser_seconds'] ?? 0) * 100 +
      (units['voice_characters'] ?? 0) * 30;
    expect(result.usage?.costMicros).toBe(cost);
  });

  it('reports the components of the time before a reply', async () => {
    pipeline.chat.answers.set('Where do I go?', { says: 'To the second floor.', afterMs: 1_000 });
    pipeline.stt.script(['Where do I go?']);
    line = pipeline.dial();
    await waitForGreeting(line);
    line.say(await pipeline.speak('Where do I go?'));
    await eventually(() => line.latencies.length === 1, ANSWER_MS);
    const [{ totalMs, parts = {} } = { totalMs: NaN }] = line.latencies;
    expect(Object.keys(parts)).toEqual(['recogniser', 'model', 'voice', 'own']);
    const sum = Object.values(parts).reduce((total, ms) => total + ms, 0);
    expect(Math.abs(sum - totalMs)).toBeLessThanOrEqual(4);
    // The model takes one second for its reply, but it began while the engine still waited for the end of the turn.
    // Only the time after the end of the turn counts for the model.
    expect(parts['model']).toBeGreaterThan(300);
    expect(parts['recogniser']).toBeGreaterThan(500);
  });

  it('hangs up on an answering machine that the model detects', async () => {
    pipeline.chat.answers.set('Please leave a message after the tone.', {
      calls: { name: 'answering_machine', arguments: {} },
    });
    pipeline.stt.script(['Please leave a message after the tone.']);
    line = pipeline.dial({ voicemail: { action: 'hang_up' } });
    await waitForGreeting(line);
    line.say(await pipeline.speak('Please leave a message after the tone.'));
    await eventually(() => line.ended !== undefined, ANSWER_MS);
    expect(line.ended).toBe('voicemail');
    expect(line.agentTurns()).toEqual([GREETING]);
    expect(line.tools).toEqual([]);
    expect(await line.hangUp()).toMatchObject({ answeredBy: 'voicemail' });
  });

  it('leaves its message after the tone of an answering machine that the carrier detected', async () => {
    pipeline.stt.script(['You have reached the Smiths.', '']);
    line = pipeline.dial({
      voicemail: { action: 'leave_message', message: 'Dear {{name}}, please call the clinic.' },
      inputParameters: { name: 'Ada' },
    });
    await eventually(() => line.isPlaying(), ANSWER_MS);
    const machine = await pipeline.speak('You have reached the Smiths. We are not at home. Leave a message.');
    line.say(machine);
    line.engine.onAnsweredBy?.('voicemail');
    const greetingOverMs = line.now() + machine.length / 8;
    await eventually(() => line.ended !== undefined, ANSWER_MS);
    expect(line.ended).toBe('voicemail');
    expect(line.agentTurns().at(-1)).toBe('Dear Ada, please call the clinic.');
    const message = line.turns.findLast(({ speaker }) => speaker === 'agent');
    expect(message?.startMs).toBeGreaterThan(greetingOverMs - 500);
    expect(await line.hangUp()).toMatchObject({ answeredBy: 'voicemail' });
  });

  it('leaves its message after a tone that follows a pause, if only the model detected the machine', async () => {
    const words = 'You have reached the Jones family.';
    pipeline.chat.answers.set(words, { calls: { name: 'answering_machine', arguments: {} } });
    pipeline.stt.script([words, '']);
    line = pipeline.dial({ voicemail: { action: 'leave_message', message: 'Please call the clinic.' } });
    await waitForGreeting(line);
    const machine = Buffer.concat([await pipeline.speak(words), silence(2_500), tone(1_000, 500)]);
    const toneOverMs = line.now() + machine.length / 8;
    line.say(machine);
    await eventually(() => line.ended !== undefined, ANSWER_MS);
    expect(line.ended).toBe('voicemail');
    const message = line.turns.findLast(({ speaker }) => speaker === 'agent');
    expect(message?.text).toBe('Please call the clinic.');
    expect(message?.startMs).toBeGreaterThan(toneOverMs - 500);
  });

  it('continues after a noise that interrupted, with a note to the model that there were no words', async () => {
    pipeline.stt.script(['']);
    line = pipeline.dial();
    await expectContinuationAfterNoise(pipeline, line);
  });

  it('ends an entry of digits by the end key or a pause, and passes it to the model as digits', async () => {
    pipeline.stt.script([]);
    pipeline.chat.answers.set('[The other person pressed these keys: 4 1 5 #]', {
      says: 'Four, one, five. Thank you.',
    });
    line = pipeline.dial();
    await waitForGreeting(line);
    for (const key of '415#') line.engine.onDtmf(key);
    await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
    expect(line.callerTurns()).toEqual(['(keys: 4 1 5 #)']);
    line.engine.onDtmf('7');
    await eventually(() => line.callerTurns().length === 2, ANSWER_MS);
    expect(line.callerTurns()[1]).toBe('(keys: 7)');
  });

  it('answers words that the caller typed', async () => {
    pipeline.stt.script([]);
    pipeline.chat.answers.set('Monday at ten.', { says: 'Monday, thank you.' });
    line = pipeline.dial();
    await waitForGreeting(line);
    line.engine.onText?.('Monday at ten.');
    await eventually(() => line.agentTurns().at(-1) === 'Monday, thank you.', ANSWER_MS);
    expect(line.callerTurns()).toEqual(['Monday at ten.']);
  });

  it('keeps the digits of a caller who hangs up without a pause', async () => {
    pipeline.stt.script([]);
    line = pipeline.dial();
    await waitForGreeting(line);
    line.engine.onDtmf('1');
    await line.hangUp();
    expect(line.callerTurns()).toEqual(['(keys: 1)']);
  });

  it('plays a long sentence before a tool call to its end, and transcribes it', async () => {
    const long = `Let me see, ${'while you wait I tell you what the clinic has to say about that, '.repeat(3)}one moment.`;
    pipeline.stt.script(['What is it?']);
    pipeline.chat.answers.set('What is it?', { says: long, calls: { name: 'look_up', arguments: { day: 'monday' } } });
    line = pipeline.dial();
    await waitForGreeting(line);
    line.say(await pipeline.speak('What is it?'));
    await eventually(() => line.agentTurns().length > 1 && !line.isPlaying(), ANSWER_MS);
    await eventually(() => line.agentTurns().length > 2, 5_000);
    expect(line.agentTurns().slice(1)).toEqual([long, 'I found this: done.']);
  });

  it('does not call a tool whose arguments are not an object, and reports that to the model', async () => {
    pipeline.stt.script(['What is it?']);
    pipeline.chat.answers.set('What is it?', {
      calls: { name: 'look_up', arguments: ['monday'] as unknown as Record<string, unknown> },
    });
    line = pipeline.dial();
    await waitForGreeting(line);
    line.say(await pipeline.speak('What is it?'));
    await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
    expect(line.tools).toEqual([]);
    expect(line.agentTurns()[1]).toContain('the arguments are not a JSON object');
  });

  it('keeps the words of a caller who hangs up while speaking', async () => {
    pipeline.stt.script(['I wanted to ask one thing more before we end this call']);
    line = pipeline.dial();
    await waitForGreeting(line);
    line.say(await pipeline.speak('I wanted to ask one thing more before we end this call today, and that is'));
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    await line.hangUp();
    expect(line.callerTurns()).toHaveLength(1);
    expect(line.callerTurns()[0]).toMatch(/^I wanted/);
  });
});
