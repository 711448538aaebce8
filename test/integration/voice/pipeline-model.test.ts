import { eventually } from './support/media-fixture';
import { GREETING, openPipeline, waitForGreeting } from './support/pipeline-harness';
import type { PipelineHarness } from './support/pipeline-harness';

const ANSWER_MS = 30_000;
const FILLER = 'One moment, please.';

describe('the pipeline engine and a language model', () => {
  let pipeline: PipelineHarness;
  let line: ReturnType<PipelineHarness['dial']>;
  beforeAll(async () => {
    pipeline = await openPipeline();
    await pipeline.factory.warm();
  });
  afterEach(async () => {
    await line.hangUp();
    pipeline.chat.faults.length = 0;
    pipeline.tts.faultOf = () => undefined;
  });
  afterAll(() => pipeline.close());

  async function startGreetedCall(script: readonly string[] = ['When is it?']): Promise<void> {
    pipeline.stt.script(script);
    line = pipeline.dial();
    await waitForGreeting(line);
  }

  async function ask(): Promise<void> {
    line.say(await pipeline.speak('Tell me, when is it?'));
  }

  /** Waits until the agent has had `count` turns since the start of the call and is silent. */
  async function agentTurns(count: number): Promise<string[]> {
    await eventually(() => line.agentTurns().length >= count && !line.isPlaying(), ANSWER_MS);
    return line.agentTurns();
  }

  it('speaks a filler during a stall of 10 s, and replies from the second attempt', async () => {
    pipeline.chat.answers.set('When is it?', { says: 'At ten.' });
    await startGreetedCall();
    pipeline.chat.faults.push({ kind: 'stall', ms: 10_000 });
    await ask();
    expect((await agentTurns(3)).slice(1)).toEqual([FILLER, 'At ten.']);
    expect(line.failed).toBeUndefined();
  }, 90_000);

  it('apologises after two stalls, and fails the call when the apology was played', async () => {
    await startGreetedCall();
    pipeline.chat.faults.push({ kind: 'stall', ms: 30_000 }, { kind: 'stall', ms: 30_000 });
    await ask();
    await eventually(() => line.failed !== undefined, 60_000);
    expect(line.failed?.message).toBe('the language model provider sent nothing for 6000 ms');
    expect(line.agentTurns()[1]).toBe(FILLER);
    expect(line.agentTurns().at(-1)).toMatch(/^I am sorry/);
  }, 90_000);

  it('repeats the request after the time that a 429 names', async () => {
    pipeline.chat.answers.set('When is it?', { says: 'At ten.' });
    await startGreetedCall();
    pipeline.chat.faults.push({ kind: 'status', status: 429, headers: { 'retry-after': '1' } });
    await ask();
    expect((await agentTurns(2)).at(-1)).toBe('At ten.');
  });

  it('keeps what was said before the stream closed, and requests the rest', async () => {
    pipeline.chat.answers.set('When is it?', { says: 'It is tomorrow. It is at ten o clock in the morning.' });
    const afterFault = '[A technical fault cut your answer off. Continue with exactly the words that follow.]';
    pipeline.chat.answers.set(afterFault, { says: 'It is at ten.' });
    await startGreetedCall();
    pipeline.chat.faults.push({ kind: 'cut', afterCharacters: 24 });
    await ask();
    expect((await agentTurns(2)).slice(1)).toEqual(['It is tomorrow. It is at ten.']);
    expect(pipeline.chat.requests.at(-1)?.messages.slice(-2)).toEqual([
      { role: 'assistant', content: 'It is tomorrow.' },
      { role: 'user', content: afterFault },
    ]);
  });

  it('repeats the request after garbage, and apologises after garbage again', async () => {
    pipeline.chat.answers.set('When is it?', { says: 'At ten.' });
    await startGreetedCall(['When is it?', 'When is it?']);
    pipeline.chat.faults.push({ kind: 'garbage', text: '{"choices":[{"del' });
    await ask();
    expect((await agentTurns(2)).at(-1)).toBe('At ten.');
    // Requests that the engine sends before the end of the turn do not count as attempts. So more faults are prepared
    // than there are attempts.
    for (let i = 0; i < 8; i++) pipeline.chat.faults.push({ kind: 'garbage', text: i % 2 ? 'null' : '{"choices":7}' });
    await ask();
    await eventually(() => line.failed !== undefined, ANSWER_MS);
    expect(line.failed?.message).toBe('the language model provider sent invalid data');
    expect(line.agentTurns().at(-1)).toMatch(/^I am sorry/);
  });

  it('repeats the request after an empty response', async () => {
    pipeline.chat.answers.set('When is it?', { says: '' });
    await startGreetedCall();
    const before = pipeline.chat.requests.length;
    await ask();
    await eventually(() => pipeline.chat.requests.length > before, ANSWER_MS);
    pipeline.chat.answers.set('When is it?', { says: 'At ten.' });
    expect((await agentTurns(2)).at(-1)).toBe('At ten.');
    expect(line.failed).toBeUndefined();
  });

  it('speaks one filler before the reply of a slow model', async () => {
    pipeline.chat.answers.set('When is it?', { says: 'At ten.', afterMs: 3_000 });
    await startGreetedCall();
    await ask();
    expect((await agentTurns(3)).slice(1)).toEqual([FILLER, 'At ten.']);
    const [latency] = line.latencies;
    expect(latency?.parts?.['model']).toBeGreaterThan(2_000);
  });

  it('speaks no filler before the greeting, because a call with only a filler must be free', async () => {
    pipeline.chat.faults.push({ kind: 'stall', ms: 3_000 });
    await startGreetedCall();
    expect(line.agentTurns()).toEqual([GREETING]);
  });

  it('aborts the model on a barge-in and passes on which of its words were played', async () => {
    const long = Array.from({ length: 40 }, (_, i) => `This is sentence number ${i + 1} of a long story.`).join(' ');
    pipeline.chat.answers.set('When is it?', { says: long });
    pipeline.chat.answers.set('Stop, please.', { says: 'All right.' });
    await startGreetedCall(['When is it?', 'Stop, please.']);
    await ask();
    await eventually(() => line.isPlaying() && line.callerTurns().length === 1, ANSWER_MS);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    line.say(await pipeline.speak('Stop now, please, I have heard enough.'));
    await eventually(() => line.agentTurns().at(-1) === 'All right.', ANSWER_MS);
    const story = line.agentTurns()[1] ?? '';
    expect(story).toMatch(/^This is sentence number 1 .* \(interrupted\)$/);
    const heard = story.replace(' (interrupted)', '');
    expect(long.startsWith(heard)).toBe(true);
    const [turn] = line.turns.filter(({ text }) => text === story);
    const playedMs = (turn?.endMs ?? 0) - (turn?.startMs ?? 0);
    // One character takes 50 ms. The limit allows a difference of about one word.
    expect(Math.abs(heard.length * 50 - playedMs)).toBeLessThan(800);
    expect(pipeline.chat.requests.at(-1)?.messages.slice(-2)).toEqual([
      { role: 'assistant', content: `${heard} [interrupted]` },
      { role: 'user', content: 'Stop, please.' },
    ]);
  });

  it('reverts a reply that is cancelled before its first audio, and tells the model so', async () => {
    pipeline.chat.answers.set('When is it?', { says: 'At ten.' });
    pipeline.chat.answers.set('And where?', { says: 'At the clinic.' });
    await startGreetedCall(['When is it?', 'And where?']);
    pipeline.tts.faultOf = (text) => (text === 'At ten.' ? { kind: 'stall' } : undefined);
    await ask();
    await eventually(() => line.callerTurns().length === 1 && pipeline.tts.texts.at(-1) === 'At ten.', ANSWER_MS);
    line.say(await pipeline.speak('And where is it going to be?'));
    await eventually(() => line.agentTurns().at(-1) === 'At the clinic.', ANSWER_MS);
    expect(pipeline.chat.requests.at(-1)?.messages.slice(1)).toEqual([
      { role: 'user', content: '[The line is open. Begin to speak.]' },
      { role: 'assistant', content: GREETING },
      { role: 'user', content: 'When is it?' },
      { role: 'user', content: 'And where?' },
    ]);
  });

  it('adds a tool result before the next reply if the caller speaks while the tool runs', async () => {
    pipeline.chat.answers.set('When is it?', { calls: { name: 'look_up', arguments: { day: 'monday' } } });
    pipeline.chat.answers.set('Hurry up.', { says: 'It is on Monday.' });
    pipeline.stt.script(['When is it?', 'Hurry up.']);
    const hurry = await pipeline.speak('Please do hurry up.');
    let answered = false;
    let askedMeanwhile: string | null | undefined;
    line = pipeline.dial({}, async () => {
      // The tool runs until one second after the caller's second turn, however long this turn takes on a busy machine.
      await eventually(() => line.callerTurns().length === 2, ANSWER_MS);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      askedMeanwhile = pipeline.chat.requests.at(-1)?.messages.at(-1)?.content;
      answered = true;
      return { ok: true, result: { at: 'ten' } };
    });
    await agentTurns(1);
    await ask();
    await eventually(() => line.tools.length === 1, ANSWER_MS);
    line.say(hurry);
    await eventually(() => line.agentTurns().at(-1) === 'It is on Monday.', ANSWER_MS);
    expect(answered).toBe(true);
    expect(askedMeanwhile).toBe('When is it?');
    const messages = pipeline.chat.requests.at(-1)?.messages ?? [];
    expect(messages.slice(-4).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(messages.at(-2)?.content).toBe('{"at":"ten"}');
    expect(line.tools).toHaveLength(1);
    expect(line.callerTurns()).toEqual(['When is it?', 'Hurry up.']);
  }, 90_000);
});
