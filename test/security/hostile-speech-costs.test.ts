import { openStage, type Stage } from '../support/pipeline-stage';

const MINUTES = 10;
const MINUTE_MS = 60_000;
/**
 * Speech that a call may have at its start and for the replies it can save, and one reply more; then 25 characters per
 * second, and 25 for each reply it earns in 2.5 s.
 */
const MOST_CHARACTERS = 4_000 + 30 * 25 + 4_200 + MINUTES * 60 * (25 + 25 / 2.5);
const LONG_SOUND = 'x'.repeat(100);
const JAPANESE = 'ご予約の確認のためにお電話を差し上げております';

const isDefined = <T>(value: T | undefined): value is T => value !== undefined;

describe('an agent that is interrupted again and again', () => {
  let stage: Stage;
  beforeEach(() => void jest.useFakeTimers());
  afterEach(async () => {
    await stage.close();
    jest.useRealTimers();
  });

  /** Interrupts each reply after a little of it was heard. @returns the characters sent to TTS */
  async function interrupt(text: string, everyMs: number): Promise<number> {
    const before = stage.voiced;
    const until = stage.now() + MINUTES * MINUTE_MS;
    for (let answered = stage.requests.length; stage.now() < until;) {
      stage.hears().onEnd('Go on please now.');
      await stage.pass(200);
      const asked = stage.requests.slice(answered).filter(isDefined);
      for (const request of asked) request.respond(text);
      answered += asked.length;
      await stage.pass(everyMs - 200);
    }
    expect(stage.failed).toBeUndefined();
    return stage.voiced - before;
  }

  it.each([
    ['a mark that is spoken as 100 characters', [{ text: '-', spoken: LONG_SOUND }], `b${'-'.repeat(398)}. Yes`],
    ['short sentences spoken as long ones', [{ text: 'A', spoken: LONG_SOUND }], 'A! '.repeat(600)],
    ['words', [], `${'word '.repeat(390)}end. Yes`],
    ['a word of 1,990 characters', [], `${'e'.repeat(1_990)}. Yes`],
    ['a sentence without spaces', [], `${JAPANESE.repeat(90).slice(0, 1_980)}。 Yes`],
  ])('buys little more speech than the call has time for, for %s', async (_what, pronunciations, text) => {
    stage = await openStage({ detectsEndOfTurn: true, call: { settings: { pronunciations } } });
    const bought = await interrupt(text, 2_500);
    expect(bought).toBeLessThanOrEqual(MOST_CHARACTERS);
    // At the highest assumed price of 60 micro-USD per character, this is at most 0.126 USD per minute in the long run.
    expect(((MOST_CHARACTERS - 9_000) / MINUTES) * 60).toBeLessThan(127_000);
  });
});

describe('an agent that speaks almost without a pause', () => {
  it('is never made to wait for its next reply', async () => {
    jest.useFakeTimers();
    // Speech of the stage has 20 characters per second, which is faster than that of a voice.
    const stage = await openStage({ detectsEndOfTurn: true });
    const text = `${'Here is one more sentence of a very long story. '.repeat(40)}And so on.`;
    const until = stage.now() + 20 * MINUTE_MS;
    while (stage.now() < until) {
      const before = stage.requests.length;
      stage.hears().onEnd('Go on please now.');
      await stage.pass(60);
      stage.lastRequest(before + 1).respond(text);
      await stage.pass(text.length * 50 + 500);
      expect(stage.said().at(-1)).toBe(`agent: ${text}`);
    }
    await stage.close();
    jest.useRealTimers();
  });
});
