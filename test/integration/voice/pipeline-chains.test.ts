import type { RequestOwner } from '../../../src/voice/audio/request-queue.js';
import { SKIPPED_FOR_MS } from '../../../src/voice/engines/chain/circuit-breaker.js';
import { openChains, type ChainHarness } from './support/chain-harness';
import type { EngineLine } from './support/engine-line';
import { eventually } from './support/media-fixture';

const ANSWER_MS = 15_000;
/** How long a provider may send nothing if another one can take over. */
const DEADLINE_MS = 3_000;
/** How soon the next provider must have answered. */
const NEXT_WITHIN_MS = 1_500;
const FILLER = 'One moment, please.';
const OPEN = '[The line is open. Begin to speak.]';
const SWITCHED = 'provider failed; the next one takes over';

/** Prices that differ by provider: 1 micro-USD per unit of the first, 10 of the second. */
const PRICES = Object.fromEntries(
  [
    'recogniser_seconds',
    'voice_characters',
    'chat_input_tokens',
    'chat_cached_input_tokens',
    'chat_output_tokens',
  ].flatMap((unit) => [
    [unit, 1],
    [`${unit}_2`, 10],
  ]),
);

describe('the chains of the pipeline’s providers', () => {
  let chains: ChainHarness;
  let line: EngineLine;
  beforeEach(async () => {
    chains = await openChains({ prices: PRICES });
  });
  afterEach(async () => {
    await line.hangUp();
    await chains.close();
  });

  const switches = () =>
    chains.lines.filter(({ msg }) => msg === SWITCHED).map(({ stage, from, to }) => ({ stage, from, to }));

  async function greet(requestOwner?: RequestOwner): Promise<void> {
    line = chains.dial(requestOwner);
    await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
  }

  /** Says something, and returns when the given event and the first audio of the answer came, on the line's clock. */
  async function answerAfter(happened: () => boolean): Promise<number> {
    const before = line.events.length;
    line.say(await chains.speak('Tell me, when is it?'));
    let atMs: number | undefined;
    const watching = setInterval(() => {
      if (happened()) atMs ??= line.now();
    }, 5);
    await eventually(() => line.agentTurns().some((text) => text.startsWith('At ten')) && !line.isPlaying(), ANSWER_MS);
    clearInterval(watching);
    const fillerId = line.events.find((event) => event.kind === 'audio' && event.itemId.startsWith('line-'));
    const audio = line.events
      .slice(before)
      .find((event) => event.kind === 'audio' && event.itemId.startsWith('reply-'));
    expect(fillerId === undefined || line.agentTurns().includes(FILLER)).toBe(true);
    if (atMs === undefined || audio === undefined) throw new Error('nothing happened');
    return audio.atMs - atMs;
  }

  function script(): void {
    chains.first.stt.script(['When is it?']);
    chains.second.stt.script(['When is it?']);
    for (const { chat } of [chains.first, chains.second]) chat.answers.set('When is it?', { says: 'At ten o clock.' });
  }

  describe.each([
    ['an error', 0, { kind: 'status', status: 500 }],
    ['a hang', DEADLINE_MS, { kind: 'stall', ms: 60_000 }],
  ] as const)('after %s', (_what, deadlineMs, fault) => {
    it('of the language model, the next one answers', async () => {
      script();
      await greet();
      chains.first.chat.faults.push(fault);
      const waitedMs = await answerAfter(() => chains.first.chat.requests.length > 1);
      expect(waitedMs).toBeLessThan(deadlineMs + NEXT_WITHIN_MS);
      expect(switches()).toEqual([{ stage: 'llm', from: 1, to: 2 }]);
      expect(line.agentTurns().filter((text) => text !== FILLER)).toHaveLength(2);
    }, 40_000);
  });

  it.each([
    ['broke off', 'cut'],
    ['reported a failure in its stream', 'failed'],
  ] as const)(
    'continues with the next language model at the word where the first %s',
    async (_how, kind) => {
      chains.first.stt.script(['When is it?']);
      chains.first.chat.answers.set('When is it?', { says: 'It is tomorrow. It is at ten.' });
      const more = '[A technical fault cut your answer off. Continue with exactly the words that follow.]';
      chains.second.chat.answers.set(more, { says: 'At ten o clock.' });
      await greet();
      chains.first.chat.faults.push({ kind, afterCharacters: 21 });
      line.say(await chains.speak('Tell me, when is it?'));
      await eventually(() => line.agentTurns().length === 2 && !line.isPlaying(), ANSWER_MS);
      expect(line.agentTurns()[1]).toBe('It is tomorrow. At ten o clock.');
    },
    40_000,
  );

  it('bills each provider in its own units, and says which ones served', async () => {
    script();
    await greet();
    chains.first.chat.faults.push({ kind: 'status', status: 500 });
    await answerAfter(() => chains.first.chat.requests.length > 1);
    const { served, usage } = await line.hangUp();
    expect(served?.map(({ stage, provider, model, number }) => [stage, provider, model, number])).toEqual([
      ['llm', 'openai', 'gpt-6-luna', 1],
      ['tts', 'elevenlabs', 'test-voice-v2_5', 1],
      ['stt', 'deepgram', 'nova-3', 1],
      ['llm', 'openai', 'gpt-6-luna', 2],
    ]);
    expect(served?.at(-1)?.fromMs).toBeGreaterThan(served?.[0]?.fromMs ?? Infinity);
    // One reply of the first model, one of the second, and the summary by the second.
    expect(usage?.units).toMatchObject({ chat_output_tokens: 10, chat_output_tokens_2: 30 });
    const cost = Object.entries(usage?.units ?? {}).reduce(
      (sum, [unit, count]) => sum + count * (unit.endsWith('_2') ? 10 : 1),
      0,
    );
    expect(usage?.costMicros).toBe(cost);
  }, 40_000);

  it('speaks on with the next text to speech after an error, and repeats no word', async () => {
    chains.first.chat.answers.set('[The line is open. Begin to speak.]', { says: 'Good morning to you. How are you?' });
    // The first break is mended by another connection to the same provider.
    chains.first.tts.faultOf = () => ({ kind: 'cut', afterMs: 500 });
    await greet();
    expect(line.agentTurns()).toEqual(['Good morning to you. How are you?']);
    expect(chains.second.tts.texts.join(' ')).toBe('you. How are you?');
    expect(switches()).toEqual([{ stage: 'tts', from: 1, to: 2 }]);
    const { served } = await line.hangUp();
    expect(served?.filter(({ stage }) => stage === 'tts')).toMatchObject([{ provider: 'openai', number: 2 }]);
  }, 40_000);

  it.each([
    ['rejected', 0],
    ['silent', DEADLINE_MS],
  ])(
    'replaces text to speech that is %s',
    async (how, deadlineMs) => {
      if (how === 'rejected') chains.first.tts.refusals.push(...Array<number>(9).fill(503));
      else chains.first.tts.faultOf = () => ({ kind: 'stall' });
      line = chains.dial();
      await eventually(() => line.firstHeardMs !== undefined, ANSWER_MS);
      expect(line.firstHeardMs).toBeLessThan(deadlineMs + NEXT_WITHIN_MS);
      expect(switches()).toEqual([{ stage: 'tts', from: 1, to: 2 }]);
    },
    40_000,
  );

  it.each([
    ['closes', { kind: 'close', code: 1011 }, 0],
    ['sends nothing', { kind: 'stall' }, DEADLINE_MS],
  ] as const)(
    'lets the next speech to text hear the turn again if the first %s',
    async (_how, fault, deadlineMs) => {
      script();
      chains.first.stt.faults.push(fault);
      await greet();
      const silentSince = () => !line.callerSpeaks();
      line.say(await chains.speak('Tell me, when is it?'));
      await eventually(silentSince, ANSWER_MS);
      const endMs = line.now();
      await eventually(() => line.callerTurns().length > 0, ANSWER_MS);
      expect(line.now() - endMs).toBeLessThan(deadlineMs + NEXT_WITHIN_MS + 600);
      expect(line.callerTurns()).toEqual(['When is it?']);
      await eventually(() => line.agentTurns().at(-1) === 'At ten o clock.', ANSWER_MS);
      expect(switches()).toEqual([{ stage: 'stt', from: 1, to: 2 }]);
      const { usage } = await line.hangUp();
      expect(usage?.units['recogniser_seconds']).toBeGreaterThan(0);
      expect(usage?.units['recogniser_seconds_2']).toBeGreaterThan(0);
    },
    40_000,
  );

  it('apologises and fails the call if both language models are dead', async () => {
    script();
    await greet();
    chains.first.chat.kill();
    chains.second.chat.kill();
    line.say(await chains.speak('Tell me, when is it?'));
    await eventually(() => line.failed !== undefined, 60_000);
    expect(line.agentTurns().at(-1)).toMatch(/^I am sorry/);
    expect(switches()).toContainEqual({ stage: 'llm', from: 1, to: 2 });
  }, 90_000);

  it('skips a dead provider in later calls, and returns to it when it is back', async () => {
    for (let call = 1; call <= 2; call += 1) {
      chains.first.chat.faults.push({ kind: 'status', status: 500 });
      await greet();
      await line.hangUp();
    }
    const asked = chains.first.chat.requests.length;
    await greet();
    expect(chains.first.chat.requests).toHaveLength(asked);
    expect(chains.lines.at(-1)).toMatchObject({
      msg: 'provider skipped, because it failed in earlier calls',
      stage: 'llm',
      from: 1,
      to: 2,
    });
    await line.hangUp();
    chains.pass(SKIPPED_FOR_MS);
    await greet();
    expect(chains.first.chat.requests.length).toBeGreaterThan(asked);
    expect((await line.hangUp()).served?.[0]).toMatchObject({ stage: 'llm', number: 1 });
  }, 60_000);

  it.each([
    ['language model', () => chains.first.chat.answers.set(OPEN, { says: 'This is slow.', afterMs: 3_500 })],
    ['text to speech', () => (chains.first.tts.faultOf = () => ({ kind: 'stall' }))],
  ])(
    'moves no call of another account, though calls of one account let the %s hang',
    async (_stage, hang) => {
      hang();
      for (const callId of ['a1', 'a2']) {
        await greet({ accountId: 'a', callId, mode: 'live' });
        await line.hangUp();
      }
      expect(switches()).toHaveLength(2);
      chains.first.chat.answers.set(OPEN, { says: 'Hello, this is the clinic.' });
      chains.first.tts.faultOf = () => undefined;
      await greet({ accountId: 'b', callId: 'b1', mode: 'live' });
      expect((await line.hangUp()).served?.map(({ stage, number }) => [stage, number])).toEqual([
        ['llm', 1],
        ['tts', 1],
      ]);
      await greet({ accountId: 'a', callId: 'a3', mode: 'live' });
      expect((await line.hangUp()).served?.some(({ number }) => number === 2)).toBe(true);
    },
    90_000,
  );

  it.each([500, 429])(
    'moves no call of another account, though the language model responds with %i to calls of one account',
    async (status) => {
      for (const callId of ['a1', 'a2']) {
        chains.first.chat.faults.push({ kind: 'status', status });
        await greet({ accountId: 'a', callId, mode: 'live' });
        await line.hangUp();
      }
      expect(switches()).toHaveLength(2);
      for (const [accountId, number] of [
        ['b', 1],
        ['a', 2],
      ] as const) {
        await greet({ accountId, callId: `${accountId}3`, mode: 'live' });
        expect((await line.hangUp()).served?.[0]).toMatchObject({ stage: 'llm', number });
      }
    },
    60_000,
  );
});
