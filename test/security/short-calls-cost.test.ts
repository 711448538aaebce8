import { lookUp, openStage, type Stage } from '../support/pipeline-stage';

/** One sentence of 236 characters. */
const SENTENCE =
  'This is one more sentence of a long recital that no one is going to hear at all because the caller interrupts it again and again, wants to hear something else and says so in a single short word each time, over and over, without an end. ';

describe('a caller who interrupts from the first second on', () => {
  let stage: Stage;
  let asked: number;
  let voiced: number;

  beforeEach(async () => {
    jest.useFakeTimers();
    stage = await openStage({ detectsEndOfTurn: true });
    asked = stage.requests.length;
    voiced = stage.voiced;
  });

  afterEach(async () => {
    await stage.close();
    jest.useRealTimers();
  });

  const replies = () => stage.requests.length - asked;
  const characters = () => stage.voiced - voiced;

  /** Makes the caller say a word every `everyMs`. The model replies to each word at once with long sentences. */
  async function interrupts(everyMs: number, forMs: number): Promise<void> {
    let answered = stage.requests.length;
    const until = stage.now() + forMs;
    for (let count = 0; stage.now() < until; count += 1) {
      stage.hears().onEnd(`No, ${count}.`);
      await stage.pass(everyMs - 100);
      for (; answered < stage.requests.length; answered += 1) {
        const request = stage.requests[answered]!;
        if (!request.abandoned) request.respond(SENTENCE.repeat(8));
      }
      await stage.pass(100);
    }
  }

  it.each([500, 1_000])(
    'every %d ms gets 12 replies in 15 s, and little speech is bought that no one hears',
    async (everyMs) => {
      await interrupts(everyMs, 15_000);
      expect(replies()).toBeLessThanOrEqual(12);
      expect(characters()).toBeLessThanOrEqual(1_500);
    },
  );

  it('causes less speech per minute than the minute is billed', async () => {
    await interrupts(500, 60_000);
    // A minute is billed with 150,000 micro-USD. One character of speech costs up to 60 micro-USD.
    expect(characters() * 60).toBeLessThan(150_000);
  });

  it('lets a model call tools 8 times in 10 s at most', async () => {
    let from = asked;
    const until = stage.now() + 10_000;
    while (stage.now() < until) {
      stage.hears().onEnd('Again.');
      await stage.pass(60);
      while (stage.requests.length > from) {
        from = stage.requests.length;
        const request = stage.lastRequest(from);
        const tools = request.mayCallTools ? [lookUp(`call_${from}`)] : [];
        if (!request.abandoned) request.respond(request.mayCallTools ? '' : 'Soon.', ...tools);
        await stage.pass(200);
        stage.tools.at(-1)?.finish({ ok: true, result: 'nothing' });
        await stage.pass(40);
      }
    }
    expect(stage.tools.length).toBeLessThanOrEqual(8);
  });

  it.each([
    ['160,000 tokens that the provider keeps', { inputTokens: 0, cachedInputTokens: 160_000, outputTokens: 50 }],
    [
      '160,000 tokens that the provider does not keep',
      { inputTokens: 160_000, cachedInputTokens: 0, outputTokens: 50 },
    ],
  ])('causes requests of %s that cost less than the call is billed', async (_what, usage) => {
    stage.usage = usage;
    const until = stage.now() + 300_000;
    let answered = stage.requests.length;
    for (let count = 0; stage.now() < until; count += 1) {
      stage.hears().onEnd(`More, ${count}.`);
      for (let steps = 0; steps < 20; steps += 1) {
        await stage.pass(100);
        for (; answered < stage.requests.length; answered += 1) stage.requests[answered]!.respond('Yes.');
      }
    }
    const { inputTokens, cachedInputTokens } = usage;
    const cost = replies() * (inputTokens * 0.4 + cachedInputTokens * 0.1);
    // Five minutes are billed with 750,000 micro-USD. The cost of one prompt already counts when the call is placed.
    expect(cost).toBeLessThan(750_000 + 64_000);
    expect(stage.requests.at(-1)!.messages.length).toBeGreaterThan(2);
  });

  it('is charged for replies that were canceled, although the provider reports no usage of them', async () => {
    const instruction = 'Recite the whole of the law. '.repeat(1_000);
    const long = await openStage({ detectsEndOfTurn: true, call: { instruction } });
    const before = long.requests.length;
    for (let count = 0; count < 3; count += 1) {
      long.hears().onEnd(`No, ${count}.`);
      await long.pass(500);
    }
    expect(long.requests).toHaveLength(before + 3);
    await long.close();
    expect(long.result?.usage?.units['chat_input_tokens']).toBeGreaterThan((2 * instruction.length) / 5);
  });

  it('is answered at once each time in a quick but honest conversation with tools', async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      const before = stage.requests.length;
      stage.hears().onEnd(`Wait, ${turn}.`);
      await stage.pass(60);
      stage.lastRequest(before + 1);
      if (turn > 0 && turn < 4) {
        stage.lastRequest(before + 1).respond('', lookUp(`call_${turn}`));
        await stage.pass(60);
        stage.tools.at(-1)?.finish({ ok: true, result: 'Monday' });
        await stage.pass(60);
        stage.lastRequest(before + 2).respond('On Monday at nine.');
      } else stage.lastRequest(before + 1).respond('Of course.');
      await stage.pass(1_800);
    }
    expect(stage.tools).toHaveLength(3);
    expect(stage.said().filter((line) => line === 'agent: On Monday at nine.')).toHaveLength(3);
  });

  it('hears speech that is bought well ahead again after as much was heard as was discarded', async () => {
    await interrupts(1_000, 3_000);
    stage.hears().onEnd('Go on, then.');
    await stage.pass(6_000);
    const text = SENTENCE.repeat(3).trim();
    stage.requests.at(-1)!.respond(text);
    await stage.pass(text.length * 50 + 1_000);
    expect(stage.said().at(-1)).toBe(`agent: ${text}`);
    const before = stage.voiced;
    stage.hears().onEnd('And now everything.');
    await stage.pass(3_000);
    stage.requests.at(-1)!.respond(SENTENCE.repeat(8));
    await stage.pass(40);
    expect(stage.voiced - before).toBeGreaterThanOrEqual(200);
  });
});
