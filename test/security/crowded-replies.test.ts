import { randomInt } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { EngineFactory, ToolCall, ToolResult } from '../../src/voice/engines/port.js';
import { startReceiver } from '../integration/webhooks/support/receiver';
import { eventually, openMediaFixture, type MediaFixture } from '../integration/voice/support/media-fixture';
import { openPipeline } from '../integration/voice/support/pipeline-harness';
import { makeRealtimeHarness } from '../integration/voice/support/realtime-harness';
import { createScriptedEngine, type ScriptedCall } from '../integration/voice/support/scripted-engine';
import { startWatch } from '../support/liveness.js';

/** Noticed as a gap by callers: audio is sent at most 360 ms ahead. */
const MAX_DELAY_MS = 250;
const CALLS_PER_REPLY = 40;
const RUN_PER_REPLY = 16;
const ANSWER_MS = 30_000;
const many = <T>(count: number, make: (index: number) => T) => Array.from({ length: count }, (_, index) => make(index));

/** A tool whose arguments take long to validate, and never fit. */
const COSTLY_TOOL = {
  name: 'compare',
  description: 'Compares.',
  method: 'POST' as const,
  url: 'https://example.com/',
  parameters: JSON.stringify({
    type: 'object',
    properties: {
      a: { type: 'array', items: { anyOf: [...many(190, () => ({ type: 'string' })), {}] } },
      b: { type: 'string' },
    },
    required: ['b'],
  }),
};
const COSTLY_CALL: ToolCall = { name: 'compare', arguments: { a: many(95, () => []) } };
const CROWDED = many(CALLS_PER_REPLY, () => COSTLY_CALL);

/** Runs work. @returns how late the event loop of this process served a timer at most, without waits for a CPU, in ms */
async function longestDelay(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let watch = startWatch();
  const timer = setInterval(() => {
    longest = Math.max(longest, watch());
    watch = startWatch();
  }, 1);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  // The work may have ended before the timer was served.
  return Math.max(longest, watch());
}

async function startCall(media: MediaFixture, tools: object[], redact: string[] = []) {
  const placed = await media.placeCall({ agent: { tools: tools as never, redact: redact as never } });
  return { placed, line: await media.openLine(placed) };
}

describe('replies with many tool calls whose arguments take long to validate', () => {
  const engine = createScriptedEngine();
  let media: MediaFixture;
  beforeAll(async () => {
    media = await openMediaFixture({ engine: engine.factory });
  });
  afterAll(() => media.close());

  async function use(tools: object[], redact: string[] = []) {
    const { placed, line } = await startCall(media, tools, redact);
    await eventually(() => engine.calls.has(placed.callId));
    const { sink } = engine.calls.get(placed.callId) as ScriptedCall;
    return {
      run: (call: ToolCall): Promise<ToolResult> => sink.runTool(call),
      end: async () => {
        line.hangUp();
        await line.closed;
      },
    };
  }

  it('delay neither the process nor the tools of other calls, however many calls have them', async () => {
    const receiver = await startReceiver((response) => response.end('"found"'));
    const lookUp = { ...COSTLY_TOOL, name: 'look_up', url: receiver.url, parameters: '{"type":"object"}' };
    const hostile = await Promise.all(many(8, () => use([COSTLY_TOOL])));
    const other = await use([lookUp]);
    const answers: ToolResult[] = [];
    let otherMs = 0;
    const delay = await longestDelay(async () => {
      const running = hostile.map(async ({ run }) => answers.push(...(await Promise.all(CROWDED.map(run)))));
      const began = performance.now();
      expect(await other.run({ name: 'look_up', arguments: {} })).toEqual({ ok: true, result: 'found' });
      otherMs = performance.now() - began;
      await Promise.all(running);
    });
    if (process.env['TEST_LOG_LEVEL']) process.stdout.write(`delay ${delay} ms, other call ${otherMs} ms\n`);
    expect(delay).toBeLessThan(MAX_DELAY_MS);
    expect(otherMs).toBeLessThan(2_500);
    expect(answers).toHaveLength(8 * CALLS_PER_REPLY);
    expect(answers.filter(({ ok }) => ok)).toEqual([]);
    await Promise.all([...hostile, other].map(({ end }) => end()));
    await receiver.close();
  });

  it('cannot keep the agent from ending the call', async () => {
    const { run, end } = await use([COSTLY_TOOL]);
    const rejected = CROWDED.map(run);
    expect(await run({ name: 'end_call', arguments: {} })).toMatchObject({ ok: true });
    await Promise.all(rejected);
    await end();
  });
});

describe('long responses of tools', () => {
  const engine = createScriptedEngine();

  it('that arrive at the same time are read and redacted one after the other', async () => {
    const media = await openMediaFixture({ engine: engine.factory });
    const waiting: ServerResponse[] = [];
    const receiver = await startReceiver((response) => void waiting.push(response));
    const tool = { ...COSTLY_TOOL, url: receiver.url, parameters: '{"type":"object"}' };
    const calls = await Promise.all(
      many(8, () => startCall(media, [tool], ['card_numbers', 'phone_numbers', 'email_addresses'])),
    );
    await eventually(() => calls.every(({ placed }) => engine.calls.has(placed.callId)));
    const sinks = calls.map(({ placed }) => (engine.calls.get(placed.callId) as ScriptedCall).sink);
    const answers = sinks.flatMap((sink) => many(8, () => sink.runTool({ name: tool.name, arguments: {} })));
    await eventually(() => waiting.length === 64);
    const texts = waiting.map(() => many(1_600, () => randomInt(1_000, 10_000)).join(' '));
    const delay = await longestDelay(async () => {
      for (const [index, response] of waiting.entries()) response.end(texts[index]);
      await Promise.all(answers);
    });
    if (process.env['TEST_LOG_LEVEL']) process.stdout.write(`delay ${delay} ms\n`);
    expect(delay).toBeLessThan(MAX_DELAY_MS);
    expect((await Promise.all(answers)).filter(({ ok }) => ok)).toHaveLength(64);
    for (const { line } of calls) line.hangUp();
    await media.close();
    await receiver.close();
  }, 120_000);
});

describe('a reply with many tool calls', () => {
  let close: () => Promise<void>;
  let media: MediaFixture;
  afterEach(async () => {
    await media.close();
    await close();
  });

  /** Lets the caller say something, to which the model replies with many tool calls. */
  async function ask(factory: EngineFactory, speech: Uint8Array, isAnswered: () => boolean): Promise<void> {
    media = await openMediaFixture({ engine: factory });
    const { placed, line } = await startCall(media, [COSTLY_TOOL]);
    const result = () => media.results.find(placed.callId);
    await eventually(async () => ((await result())?.turns.length ?? 0) > 0 && !line.isPlaying(), ANSWER_MS);
    const delay = await longestDelay(async () => {
      line.say(speech);
      await eventually(isAnswered, ANSWER_MS);
    });
    if (process.env['TEST_LOG_LEVEL']) process.stdout.write(`delay ${delay} ms\n`);
    expect(delay).toBeLessThan(MAX_DELAY_MS);
    line.hangUp();
    await eventually(async () => (await result())?.endedAt !== undefined, ANSWER_MS);
    const used = (await result())?.toolCalls ?? [];
    expect(used.map(({ name, ok }) => [name, ok])).toEqual(many(RUN_PER_REPLY, () => ['compare', false]));
  }

  it('does not delay the process of the pipeline, and each has an answer', async () => {
    const pipeline = await openPipeline();
    close = () => pipeline.close();
    pipeline.stt.script(['Compare them.']);
    pipeline.chat.answers.set('Compare them.', { calls: CROWDED });
    const answered = () => pipeline.chat.requests.find(({ messages }) => messages.at(-1)?.role === 'tool');
    await ask(pipeline.factory, await pipeline.speak('Compare them.'), () => answered() !== undefined);
    expect(answered()?.messages.filter(({ role }) => role === 'tool')).toHaveLength(CALLS_PER_REPLY);
    expect(pipeline.chat.rejected).toEqual([]);
  }, 120_000);

  it('does not delay the process of the realtime engine, and each has an answer', async () => {
    const harness = await makeRealtimeHarness();
    close = () => harness.close();
    const { fake } = harness;
    fake.script([{ hears: 'Compare them.', calls: CROWDED }]);
    const outputs = () =>
      fake.sessions.flatMap(({ events }) => events.filter(({ item }) => item?.type === 'function_call_output'));
    await ask(harness.factory, await harness.speak('Compare them.'), () => outputs().length >= CALLS_PER_REPLY);
    expect(outputs()).toHaveLength(CALLS_PER_REPLY);
    expect(fake.sessions.flatMap(({ errors }) => errors)).toEqual([]);
  }, 120_000);
});
