import { sourceOf } from '../../src/voice/audio/grammar.js';
import { createSynthesizer } from '../../src/voice/audio/flite.js';
import { speechPieces } from '../../src/voice/audio/speech-pieces.js';
import { createThread } from '../../src/voice/audio/thread.js';
import { createOfflineEngine } from '../../src/voice/engines/offline/index.js';
import { questionsOf } from '../../src/voice/engines/offline/questions.js';
import { createSpokenLines } from '../../src/voice/engines/offline/spoken-lines.js';
import type { EngineCall } from '../../src/voice/engines/port.js';
import { connect, type EngineLine, until } from '../support/engine-line.js';

jest.setTimeout(180_000);

const LETTERS = 'internationalization ';
const long = (text: string, characters: number) =>
  text.repeat(Math.ceil(characters / text.length)).slice(0, characters);
const asker = (accountId: string, mode: 'live' | 'test' = 'live', callId = accountId) => ({ accountId, callId, mode });
const SECONDS_OF = (mulaw: Uint8Array) => mulaw.length / 8_000;

/** In the order in which they are done. */
function inOrder() {
  const done: string[] = [];
  return {
    done,
    note: <T>(name: string, work: Promise<T>): Promise<void> =>
      work.then(
        () => void done.push(name),
        () => void done.push(`${name} failed`),
      ),
  };
}

describe('a call with a very long line', () => {
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
  ])('never silences the calls of others: %s', async (name, changes) => {
    const evil = dial({ ...changes, askedBy: asker('evil', 'test', `evil ${name}`) });
    await new Promise((resolve) => setTimeout(resolve, 400));
    const victims = [1, 2, 3].map((n) =>
      dial({
        instruction: `I am calling about the ${name}, number ${n}. Be brief.`,
        outputTemplate: { confirmed: true },
        askedBy: asker(`victim ${n}`),
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

describe('the voice of all calls', () => {
  const synthesizer = createSynthesizer();
  beforeAll(() => synthesizer.warm());
  afterAll(() => synthesizer.close());

  it.each(['7', '777777777 ', '$777,777.77 ', 'W', 'w', '% ', 'a! ', LETTERS])(
    'speaks about two minutes at most of a text, some seconds at a time, whatever it is made of: %p',
    async (part) => {
      const pieces = speechPieces(long(part, 16_000));
      const speech = await synthesizer.speak(pieces[0] ?? '', 'slt');
      expect(SECONDS_OF(speech)).toBeLessThan(20);
      expect(SECONDS_OF(speech) * pieces.length).toBeLessThan(180);
    },
  );

  it('leaves out what is more', async () => {
    const whole = await synthesizer.speak(long(LETTERS, 16_000), 'slt');
    expect(SECONDS_OF(whole)).toBeLessThan(180);
  });

  it('speaks for live calls first, and for one account no more than for another', async () => {
    const { done, note } = inOrder();
    const crowd = Array.from({ length: 12 }, (_, n) =>
      note('crowd', synthesizer.speak(`This is line number ${n}.`, 'slt', asker('crowd', 'test', `call ${n % 4}`))),
    );
    const neighbour = note('neighbour', synthesizer.speak('I am another customer.', 'slt', asker('neighbour', 'test')));
    const live = note('live', synthesizer.speak('I am a live call.', 'slt', asker('crowd', 'live')));
    await Promise.all([...crowd, neighbour, live]);
    expect(done.filter((name) => name !== 'crowd')).toEqual(['live', 'neighbour']);
    expect(done.indexOf('live')).toBeLessThanOrEqual(1);
    expect(done.indexOf('neighbour')).toBeLessThanOrEqual(3);
  });

  it('takes turns within a long line', async () => {
    const { done, note } = inOrder();
    const slow = note('long', synthesizer.speak(long(LETTERS, 1_500), 'slt', asker('a')));
    const short = note('short', synthesizer.speak('I am brief.', 'slt', asker('b')));
    await Promise.all([slow, short]);
    expect(done).toEqual(['short', 'long']);
  });
});

describe('a thread of all calls', () => {
  const newThread = (limits: object) =>
    createThread<{ text: string; voice: string }, Uint8Array>({
      module: 'flite-worker',
      name: 'synthesizer',
      withinMs: 20_000,
      ...limits,
    });
  const line = (text: string) => ({ text, voice: 'slt' });

  it('rejects work that takes too long, and nothing that waits for it', async () => {
    const thread = newThread({ withinMs: 10_000 });
    await thread.ask(line('Hello.'), asker('a'));
    const slow = thread.ask(line(long('777777777 ', 4_000)), asker('a'));
    const others = ['b', 'c', 'd'].map((account) => thread.ask(line(`I am ${account}.`), asker(account)));
    const outcomes = await Promise.allSettled([slow, ...others]);
    await thread.close();
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
  });

  it('lets those wait no longer who ask for most when too many wait, test calls before live ones', async () => {
    const { done, note } = inOrder();
    const thread = newThread({ maxWaiting: 4 });
    const asked = [
      note('first', thread.ask(line('I am the first.'), asker('a', 'test'))),
      ...[1, 2, 3, 4].map((n) => note(`crowd ${n}`, thread.ask(line(`Line ${n}.`), asker('crowd', 'test')))),
      note('neighbour', thread.ask(line('I am another.'), asker('b', 'test'))),
      ...[1, 2].map((n) => note(`live ${n}`, thread.ask(line(`Line ${n}.`), asker('c')))),
    ];
    await Promise.all(asked);
    await thread.close();
    expect(done.filter((name) => name.endsWith('failed'))).toEqual([
      'crowd 4 failed',
      'crowd 3 failed',
      'crowd 2 failed',
    ]);
  });
});

describe('answers that are listened for', () => {
  const template = Object.fromEntries(
    ['x', 'y'].map((key) => [
      key,
      Array(9)
        .fill(0)
        .map((_, n) => `${n} ${long('abcdefghi ', 1_600)}`)
        .join('|'),
    ]),
  );

  it('stay few and short, whatever choices an agent offers', () => {
    for (const { grammar, ask, hint, keyHint } of questionsOf(template)) {
      const { jsgf, words } = sourceOf(grammar);
      expect(jsgf.length).toBeLessThan(8_000);
      expect(words.length).toBeLessThan(300);
      for (const text of [...ask, hint, keyHint]) expect(text.length).toBeLessThan(600);
    }
    const choices = Array(500)
      .fill(0)
      .map((_, n) => `${n} ${long('abcdefghi ', 1_600)}`);
    expect(sourceOf({ kind: 'choices', choices }).jsgf.length).toBeLessThan(40_000);
  });

  it('give the whole choice, by voice and by key', () => {
    const [question] = questionsOf(template);
    const whole = String(template['x']).split('|')[3]?.trim();
    expect(question?.valueOfKeys('4')).toBe(whole);
    expect(question?.valueOf({ kind: 'choice', index: 3 })).toBe(whole);
  });
});

describe('lines that are kept', () => {
  it('take few megabytes together, and those of test calls push out none of live calls', async () => {
    const synthesizer = createSynthesizer();
    const speak = createSpokenLines(synthesizer, { maxBytes: 100_000 });
    const live = await speak('I am calling about your table.', 'slt', asker('a'));
    const first = await speak('I am a test.', 'slt', asker('a', 'test'));
    for (let n = 0; n < 5; n++) await speak(`${long(LETTERS, 200)} ${n}`, 'slt', asker('b', 'test'));
    expect(await speak('I am calling about your table.', 'slt', asker('a'))).toBe(live);
    expect(await speak('I am a test.', 'slt', asker('a', 'test'))).not.toBe(first);
    await synthesizer.close();
  });
});
