import { createSynthesizer } from '../../src/voice/audio/flite.js';
import { createOfflineEngine } from '../../src/voice/engines/offline/index.js';
import { connect, until } from '../support/engine-line';
import type { EngineLine } from '../support/engine-line';
import { withoutSilence } from '../support/spoken';
import { percentile, report } from './figures';

jest.setTimeout(600_000);

/** Multiplies the limits that hold on an idle machine, because this machine may be busy. */
const ROOM = 5;
const QUESTIONS = 8;
/** The caller interrupts this long after the agent began to speak: a question must be heard before it can be answered. */
const INTERRUPT_AFTER_MS = 2_500;
/** The agent repeats a question that was cut off before it was asked. So the caller lets the greeting play for longer. */
const INTERRUPT_GREETING_AFTER_MS = 8_000;

const booleans = Object.fromEntries(Array.from({ length: QUESTIONS }, (_, i) => [`confirmed_${'abcdefgh'[i]}`, false]));
const digits = Object.fromEntries(Array.from({ length: QUESTIONS }, (_, i) => [`code_${'abcdefgh'[i]}`, null]));

describe('the offline conversation', () => {
  const synthesizer = createSynthesizer();
  const factory = createOfflineEngine();
  beforeAll(() => factory.warm());
  afterAll(() => Promise.all([synthesizer.close(), factory.close()]));

  const speak = async (text: string) => withoutSilence(await synthesizer.speak(text, 'rms'));

  /** Times from the end of each turn of the caller to the first audio of the reply, in ms, as the caller hears it. */
  function replyTimes(line: EngineLine): number[] {
    return line.said.map(({ toMs }) => (line.itemsAt.find((atMs) => atMs > toMs) ?? Number.NaN) - toMs);
  }

  it('replies, starts and stops speaking in time', async () => {
    const [no, four, yes] = [await speak('No.'), await speak('Four one five two.'), await speak('Yes.')];

    const listening = connect(factory.create(), { outputTemplate: digits });
    await listening.agentTurn();
    for (let i = 0; i < QUESTIONS; i++) {
      listening.say(four);
      await listening.agentTurn();
      listening.say(yes);
      if (i < QUESTIONS - 1) await listening.agentTurn();
    }
    await listening.ended;

    const interrupting = connect(factory.create(), { outputTemplate: booleans });
    for (let i = 0; i < QUESTIONS; i++) {
      await until(() => interrupting.itemsAt.length === i + 1);
      const beforeMs = i === 0 ? INTERRUPT_GREETING_AFTER_MS : INTERRUPT_AFTER_MS;
      await until(() => interrupting.now() - (interrupting.itemsAt[i] ?? 0) >= beforeMs);
      interrupting.say(no);
      await until(() => interrupting.clearedAt.length === i + 1 || interrupting.clearedAt.length >= QUESTIONS);
    }
    await interrupting.ended;

    const results = await Promise.all([listening.stop(), interrupting.stop()]);
    expect(Object.values(results[0].outputParameters)).toEqual(Array.from({ length: QUESTIONS }, () => '4152'));
    expect(Object.values(results[1].outputParameters)).toEqual(Array.from({ length: QUESTIONS }, () => false));

    const lines = [listening, interrupting];
    const latencies = lines.flatMap((line) => line.latencies);
    const answers = lines.flatMap(replyTimes);
    const own = latencies.map(({ parts }) => parts?.['own'] ?? 0);
    const share = (name: string) => latencies.map(({ parts }) => parts?.[name] ?? 0);
    const firstWords = lines.map((line) => line.itemsAt[0] ?? Number.NaN);
    const clears = interrupting.clearedAt.map((atMs, i) => atMs - (interrupting.said[i]?.fromMs ?? 0));
    const figures = {
      'replies measured': answers.length,
      'caller’s end of speech to first audio p50, ms': percentile(answers, 50),
      'caller’s end of speech to first audio p95, ms': percentile(answers, 95),
      'of that, silence that ends a turn p50, ms': percentile(share('pause'), 50),
      'of that, recogniser p50, ms': percentile(share('recogniser'), 50),
      'of that, recogniser p95, ms': percentile(share('recogniser'), 95),
      'of that, voice p95, ms': percentile(share('voice'), 95),
      'of that, our own p95, ms': percentile(own, 95),
      'answer to first word, slowest, ms': Math.max(...firstWords),
      'interruptions measured': clears.length,
      'caller’s first sound to clear p95, ms': percentile(clears, 95),
    };
    report('offline conversation', figures);
    expect(percentile(answers, 50)).toBeLessThan(1_200 * ROOM);
    expect(percentile(answers, 95)).toBeLessThan(2_000 * ROOM);
    expect(percentile(own, 95)).toBeLessThan(50 * ROOM);
    expect(Math.max(...firstWords)).toBeLessThan(1_000 * ROOM);
    expect(clears).toHaveLength(QUESTIONS);
    expect(percentile(clears, 95)).toBeLessThan(300 * ROOM);
  });
});
