import { sourceOf } from '../../src/voice/audio/grammar.js';
import { createSynthesizer } from '../../src/voice/audio/flite.js';
import { splitSpeech } from '../../src/voice/audio/speech-pieces.js';
import { createWorkerThread } from '../../src/voice/audio/worker-thread.js';
import { createOfflineEngine } from '../../src/voice/engines/offline/index.js';
import { createQuestions } from '../../src/voice/engines/offline/questions.js';
import { createSpeechCache } from '../../src/voice/engines/offline/speech-cache.js';
import type { EngineCall } from '../../src/voice/engines/port.js';
import { connect, type EngineLine, until } from '../support/engine-line.js';

jest.setTimeout(180_000);

const LETTERS = 'internationalization ';
const long = (text: string, characters: number) =>
  text.repeat(Math.ceil(characters / text.length)).slice(0, characters);
const requesterOf = (accountId: string, mode: 'live' | 'test' = 'live', callId = accountId) => ({
  accountId,
  callId,
  mode,
});
const secondsOf = (mulaw: Uint8Array) => mulaw.length / 8_000;

/** Records the order in which work finishes. */
function recordOrder() {
  const done: string[] = [];
  return {
    done,
    record: <T>(name: string, work: Promise<T>): Promise<void> =>
      work.then(
        () => void done.push(name),
        () => void done.push(`${name} failed`),
      ),
  };
}

describe('a call with a text of thousands of characters', () => {
  const factory = createOfflineEngine();
  const lines: EngineLine[] = [];
  const dial = (changes: Partial<EngineCall>) => {
    const line = connect(factory.create(), changes);
    lines.push(line);
    return line;
  };

  beforeAll(() => factory.warm());
  afterAll(async () => {
    await Promise.all(lines.map((line) => line.stop()));
    await factory.close();
  });

  it.each([
    ['question', { outputTemplate: { x: `a|${long(LETTERS, 15_000)}` } }],
    ['question of digits', { outputTemplate: { x: `a|${long('777777777 ', 15_000)}` } }],
    ['instruction of digits', { instruction: long('7', 15_000) }],
    ['instruction of values', { instruction: '{{a}} '.repeat(166), inputParameters: { a: long('7', 500) } }],
  ])('does not delay the speech of other calls: %s', async (name, changes) => {
    const evil = dial({ ...changes, requestOwner: requesterOf('evil', 'test', `evil ${name}`) });
    await new Promise((resolve) => setTimeout(resolve, 400));
    const victims = [1, 2, 3].map((n) =>
      dial({
        instruction: `I am calling about the ${name}, number ${n}. Be brief.`,
        outputTemplate: { confirmed: true },
        requestOwner: requesterOf(`victim ${n}`),
      }),
    );
    await until(() => victims.every(({ itemsAt, failures }) => itemsAt.length + failures.length > 0), 60_000);
    await until(
      () => [evil, ...victims].every(({ heard, failures }) => heard.length > 150 || failures.length > 0),
      60_000,
    );
    expect([evil, ...victims].flatMap(({ failures }) => failures.map(({ message }) => message))).toEqual([]);
    expect(Math.max(...victims.map(({ itemsAt }) => itemsAt[0] ?? Infinity))).toBeLessThan(10_000);
  });
});

describe('the speech of all calls', () => {
  const synthesizer = createSynthesizer();
  beforeAll(() => synthesizer.warm());
  afterAll(() => synthesizer.close());

  it.each(['7', '777777777 ', '$777,777.77 ', 'W', 'w', '% ', 'a! ', LETTERS])(
    'is limited to about two minutes per text, in pieces of some seconds, for any text: %p',
    async (part) => {
      const pieces = splitSpeech(long(part, 16_000));
      const speech = await synthesizer.speak(pieces[0] ?? '', 'slt');
      expect(secondsOf(speech)).toBeLessThan(20);
      expect(secondsOf(speech) * pieces.length).toBeLessThan(180);
    },
  );

  it('drops the rest of a longer text', async () => {
    const whole = await synthesizer.speak(long(LETTERS, 16_000), 'slt');
    expect(secondsOf(whole)).toBeLessThan(180);
  });

  it('serves live calls first and accounts equally', async () => {
    const { done, record } = recordOrder();
    const crowd = Array.from({ length: 12 }, (_, n) =>
      record(
        'crowd',
        synthesizer.speak(`This is line number ${n}.`, 'slt', requesterOf('crowd', 'test', `call ${n % 4}`)),
      ),
    );
    const neighbour = record(
      'neighbour',
      synthesizer.speak('I am another customer.', 'slt', requesterOf('neighbour', 'test')),
    );
    const live = record('live', synthesizer.speak('I am a live call.', 'slt', requesterOf('crowd', 'live')));
    await Promise.all([...crowd, neighbour, live]);
    expect(done.filter((name) => name !== 'crowd')).toEqual(['live', 'neighbour']);
    expect(done.indexOf('live')).toBeLessThanOrEqual(1);
    expect(done.indexOf('neighbour')).toBeLessThanOrEqual(3);
  });

  it('serves other calls between the pieces of a long text', async () => {
    const { done, record } = recordOrder();
    const slow = record('long', synthesizer.speak(long(LETTERS, 1_500), 'slt', requesterOf('a')));
    const short = record('short', synthesizer.speak('I am brief.', 'slt', requesterOf('b')));
    await Promise.all([slow, short]);
    expect(done).toEqual(['short', 'long']);
  });
});

describe('the thread that all calls share', () => {
  const newThread = (limits: object) =>
    createWorkerThread<{ text: string; voice: string }, Uint8Array>({
      module: 'flite-worker',
      name: 'synthesizer',
      timeoutMs: 20_000,
      ...limits,
    });
  const line = (text: string) => ({ text, voice: 'slt' });

  it('rejects work that takes too long, but not the work that waits for it', async () => {
    const thread = newThread({ timeoutMs: 10_000 });
    await thread.run(line('Hello.'), requesterOf('a'));
    const slow = thread.run(line(long('777777777 ', 4_000)), requesterOf('a'));
    const others = ['b', 'c', 'd'].map((account) => thread.run(line(`I am ${account}.`), requesterOf(account)));
    const outcomes = await Promise.allSettled([slow, ...others]);
    await thread.close();
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
  });

  it('rejects the requests of the heaviest account when too many wait, test calls before live ones', async () => {
    const { done, record } = recordOrder();
    const thread = newThread({ maxQueued: 4 });
    const requests = [
      record('first', thread.run(line('I am the first.'), requesterOf('a', 'test'))),
      ...[1, 2, 3, 4].map((n) => record(`crowd ${n}`, thread.run(line(`Line ${n}.`), requesterOf('crowd', 'test')))),
      record('neighbour', thread.run(line('I am another.'), requesterOf('b', 'test'))),
      ...[1, 2].map((n) => record(`live ${n}`, thread.run(line(`Line ${n}.`), requesterOf('c')))),
    ];
    await Promise.all(requests);
    await thread.close();
    expect(done.filter((name) => name.endsWith('failed'))).toEqual([
      'crowd 4 failed',
      'crowd 3 failed',
      'crowd 2 failed',
    ]);
  });
});

describe('expected answers', () => {
  const template = Object.fromEntries(
    ['x', 'y'].map((key) => [
      key,
      Array(9)
        .fill(0)
        .map((_, n) => `${n} ${long('abcdefghi ', 1_600)}`)
        .join('|'),
    ]),
  );

  it('are few and short, whatever choices an agent offers', () => {
    for (const { grammar, ask, hint, dtmfHint } of createQuestions(template)) {
      const { jsgf, words } = sourceOf(grammar);
      expect(jsgf.length).toBeLessThan(8_000);
      expect(words.length).toBeLessThan(300);
      for (const text of [...ask, hint, dtmfHint]) expect(text.length).toBeLessThan(600);
    }
    const choices = Array(500)
      .fill(0)
      .map((_, n) => `${n} ${long('abcdefghi ', 1_600)}`);
    expect(sourceOf({ kind: 'choices', choices }).jsgf.length).toBeLessThan(40_000);
  });

  it('give the whole choice, by voice and by DTMF digit', () => {
    const [question] = createQuestions(template);
    const whole = String(template['x']).split('|')[3]?.trim();
    expect(question?.valueOfDigits('4')).toBe(whole);
    expect(question?.valueOf({ kind: 'choice', index: 3 })).toBe(whole);
  });
});

describe('stored speech', () => {
  it('takes little memory, and test calls push out nothing of live calls', async () => {
    const synthesizer = createSynthesizer();
    const speak = createSpeechCache(synthesizer, { maxBytes: 100_000 });
    const live = await speak('I am calling about your table.', 'slt', requesterOf('a'));
    const first = await speak('I am a test.', 'slt', requesterOf('a', 'test'));
    for (let n = 0; n < 5; n++) await speak(`${long(LETTERS, 200)} ${n}`, 'slt', requesterOf('b', 'test'));
    expect(await speak('I am calling about your table.', 'slt', requesterOf('a'))).toBe(live);
    expect(await speak('I am a test.', 'slt', requesterOf('a', 'test'))).not.toBe(first);
    await synthesizer.close();
  });
});
