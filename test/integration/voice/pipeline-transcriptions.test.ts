import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { createSynthesizer } from '../../../src/voice/audio/flite.js';
import { loadVoiceActivity } from '../../../src/voice/audio/voice-activity.js';
import { createOpenAiStt } from '../../../src/voice/engines/pipeline/stt/openai-transcriptions.js';
import type { FailureReport } from '../../../src/voice/models/failure-report.js';
import { LANGUAGES } from '../../../src/kernel/conversation/voices.js';
import { silence, withoutSilence } from '../../support/spoken';
import { openFakeTranscriptions, type FakeTranscriptions } from './fakes/transcriptions';
import { eventually } from './support/media-fixture';

const FRAME_BYTES = 160;

describe('STT by transcriptions', () => {
  const dispatcher = new Agent();
  const callers = createSynthesizer();
  let newDetector: Awaited<ReturnType<typeof loadVoiceActivity>>;
  let fake: FakeTranscriptions;
  let told: string[];
  let billed: number;
  let losses: FailureReport[];
  let stream: ReturnType<typeof openStream>;
  beforeAll(async () => {
    newDetector = await loadVoiceActivity();
  });
  beforeEach(async () => {
    fake = await openFakeTranscriptions();
    told = [];
    billed = 0;
    losses = [];
    stream = openStream();
  });
  afterEach(async () => {
    stream.close();
    await fake.close();
  });
  afterAll(async () => {
    await dispatcher.destroy();
    await callers.close();
  });

  function openStream(account: { apiKey?: string; model?: string; baseUrl?: string } = {}, language = 'en-US') {
    const { apiKey = '', model = 'whisper-1', baseUrl = `http://127.0.0.1:${fake.port}/v1/` } = account;
    const tell = (event: string) => (text: string) => void told.push(`${event} ${text}`);
    return createOpenAiStt({ baseUrl, apiKey, model }, { dispatcher, newDetector, timeoutMs: 1_000 }).open(
      { language, settings: {} },
      {
        onInterim: tell('interim'),
        onProbableEnd: tell('probable end'),
        onTurnContinued: () => tell('continued')(''),
        onEnd(text) {
          tell('end')(text);
          // The session does so at the end of each turn.
          stream.discardTurn();
        },
        onActivity: () => tell('alive')(''),
        onBilled: (seconds) => (billed += seconds),
        onLost({ message, report }) {
          tell('lost')(message);
          losses.push(report);
        },
      },
    );
  }

  /** Passes the audio to the stream at once, faster than real time. */
  function push(...parts: readonly Uint8Array[]): void {
    const audio = Buffer.concat(parts);
    for (let at = 0; at + FRAME_BYTES <= audio.length; at += FRAME_BYTES)
      stream.push(audio.subarray(at, at + FRAME_BYTES));
  }

  const speak = async (text: string) => withoutSilence(await callers.speak(text, 'rms'));

  it('sends no key if there is none, and each language without its region', async () => {
    const yes = await speak('Yes, of course.');
    for (const { tag } of LANGUAGES) {
      stream.close();
      stream = openStream({}, tag);
      fake.script(['Yes.']);
      const before = told.length;
      push(silence(300), yes, silence(800));
      await eventually(() => told.length > before);
    }
    expect(fake.invalid).toEqual([]);
    expect(fake.requests.map(({ authorization }) => authorization)).toEqual(LANGUAGES.map(() => undefined));
    expect(new Set(fake.requests.map(({ fields }) => fields['language']))).toEqual(
      new Set('en de es fr hi it ja nl pt'.split(' ')),
    );
    expect(new Set(told)).toEqual(new Set(['end Yes.']));
  });

  it.each([
    ['a wrong key', { apiKey: 'wrong' }, { status: 401, code: 'invalid_api_key', message: /^Incorrect API key/ }],
    ['an unknown model', { apiKey: 'right', model: 'whisper-9' }, { status: 400, message: /^invalid model ID$/ }],
    ['a key that a server of speaches rejects', { apiKey: 'wrong' }, { status: 403, message: /^Invalid API key/ }],
    [
      'a model that a server of speaches has not installed',
      { apiKey: 'right', model: 'whisper-9' },
      { status: 404, message: /^Model 'whisper-9' is not installed locally/ },
    ],
  ])('is lost at once because of %s, which costs nothing', async (name, account, { message, ...report }) => {
    fake.key = 'right';
    if (name.includes('speaches')) fake.installed = ['whisper-small'];
    stream.close();
    stream = openStream(account);
    push(await speak('Hello there.'), silence(800));
    await eventually(() => told.length > 0);
    expect(told).toEqual([`lost the speech-to-text provider responded with status ${report.status}`]);
    expect(losses).toEqual([expect.objectContaining({ ...report, message: expect.stringMatching(message) as string })]);
    expect(billed).toBe(0);
  });

  it.each([
    ['gpt-transcribe', 'languages[]'],
    ['gpt-4o-transcribe', 'language'],
  ])('names the language as the model %s takes it', async (model, name) => {
    stream.close();
    stream = openStream({ model }, 'de-DE');
    fake.script(['Ja.']);
    push(await speak('Yes, of course.'), silence(800));
    await eventually(() => told.length > 0);
    expect([told, fake.invalid]).toEqual([['end Ja.'], []]);
    expect(fake.requests[0]?.fields).toMatchObject({ [name]: 'de' });
  });

  it.each(['gpt-transcribe', 'whisper-1'])('does not name a language that the model %s rejects', async (model) => {
    fake.rejectedLanguage = 'hi';
    stream.close();
    stream = openStream({ model }, 'hi-IN');
    fake.script(['First.', 'Second.']);
    push(await speak('Yes, of course.'), silence(800));
    await eventually(() => told.length > 0);
    push(await speak('That suits me very well.'), silence(800));
    await eventually(() => told.length > 1);
    expect(told).toEqual(['end First.', 'end Second.']);
    expect(fake.invalid).toHaveLength(1);
  });

  it('waits for a server that is unavailable for a short time', async () => {
    const { port } = fake;
    await fake.close();
    push(await speak('Hello there.'), silence(800));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(told).toEqual([]);
    const server = await serve(() => undefined, 200, undefined, port);
    await eventually(() => told.length > 0);
    server.close().closeAllConnections();
    expect(told).toEqual(['end no']);
  });

  it('is lost because of a server that is not there, which costs nothing', async () => {
    await fake.close();
    push(await speak('Hello there.'), silence(800));
    await eventually(() => told.length > 0);
    expect(told).toEqual(['lost the speech-to-text provider failed to respond: ECONNREFUSED']);
    expect(billed).toBe(0);
  });

  it('repeats a request after a broken connection, 5xx and 429, and bills it once', async () => {
    fake.faults.push({ kind: 'cut' }, { kind: 'status', status: 503 });
    fake.faults.push({ kind: 'status', status: 429, headers: { 'retry-after': '0' } });
    fake.script(['Hello there.']);
    push(await speak('Hello there.'), silence(800));
    await eventually(() => told.length > 0);
    expect(told).toEqual(['end Hello there.']);
    expect(fake.requests).toHaveLength(4);
    expect(billed).toBeCloseTo(fake.requests[0]?.seconds ?? NaN);
  });

  it.each([
    ['a provider that stays overloaded', { kind: 'status', status: 503 }, 'responded with status 503'],
    ['a hang', { kind: 'stall' }, 'did not respond within 1000 ms'],
    ['a broken connection', { kind: 'cut' }, 'failed to respond: UND_ERR_SOCKET'],
    ['a response that is not JSON', { kind: 'garbage', text: 'Hello there.' }, 'sent an invalid transcript'],
    ['a response without end', { kind: 'garbage', text: ' '.repeat(200_000) }, 'sent more than any transcript needs'],
  ] as const)('is lost after %s, within the deadline', async (_name, fault, message) => {
    fake.faults.push(...Array.from({ length: 20 }, () => fault));
    const speech = await speak('Hello there.');
    const began = performance.now();
    push(speech, silence(800));
    await eventually(() => told.length > 0);
    expect(told).toEqual([`lost the speech-to-text provider ${message}`]);
    expect(performance.now() - began).toBeLessThan(1_500);
    expect(fake.requests.length).toBeLessThan(5);
  });

  it('follows no redirect, so that neither the key nor the audio reaches another server', async () => {
    const reached: string[] = [];
    const target = await serve((url) => void reached.push(url), 200);
    const { port } = target.address() as AddressInfo;
    const redirect = await serve(() => undefined, 307, `http://127.0.0.1:${port}/v1/audio/transcriptions`);
    stream.close();
    stream = openStream({ apiKey: 'key', baseUrl: `http://127.0.0.1:${(redirect.address() as AddressInfo).port}/v1` });
    push(await speak('Hello there.'), silence(800));
    await eventually(() => told.length > 0);
    expect(told[0]).toMatch(/^lost /);
    expect(reached).toEqual([]);
    for (const server of [target, redirect]) {
      server.close().closeAllConnections();
    }
  });

  it('cuts a long turn into pieces of at most 30 s, and joins their words in order', async () => {
    const words = await speak('and then we went along the river');
    const many = (seconds: number) => Array.from({ length: Math.ceil((seconds * 8_000) / words.length) }, () => words);
    const texts = ['one', 'two', 'three'];
    fake.transcribe = async () => {
      const index = fake.requests.length - 1;
      // The first transcript arrives last.
      await new Promise((resolve) => setTimeout(resolve, index === 0 ? 400 : 0));
      return texts[index] ?? 'more';
    };
    for (const part of many(70)) {
      push(part);
      await new Promise((resolve) => setImmediate(resolve));
    }
    push(silence(800));
    await eventually(() => told.some((event) => event.startsWith('end ')));
    expect(told.at(-1)).toMatch(/^end one two three/);
    expect(Math.max(...fake.requests.map(({ seconds }) => seconds))).toBeLessThanOrEqual(30);
    const total = fake.requests.reduce((sum, { seconds }) => sum + seconds, 0);
    expect(Math.abs(total - 70)).toBeLessThan(5);
    expect(billed).toBeCloseTo(total);
  });

  it('does not send the silence after a piece, for which models invent words', async () => {
    const words = await speak('and then we went along the river');
    fake.unscripted = 'word';
    push(...Array.from({ length: Math.ceil((21 * 8_000) / words.length) }, () => words), silence(400));
    await eventually(() => told.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    push(silence(400));
    await eventually(() => told.some((event) => event.startsWith('end ')));
    expect(fake.requests).toHaveLength(1);
    expect(told).toEqual(['probable end word', 'end word']);
  });

  it('asks for a turn with many pauses a few times only, so that its costs do not multiply', async () => {
    const digit = await speak('seven');
    fake.unscripted = 'Seven.';
    for (let count = 0; count < 15; count += 1) {
      push(digit, silence(520));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    push(silence(400));
    await eventually(() => told.some((event) => event.startsWith('end ')));
    const spoken = (15 * (digit.length + 520 * 8)) / 8_000;
    expect(told.filter((event) => event.startsWith('end '))).toEqual(['end Seven.']);
    expect(fake.requests.length).toBeGreaterThan(2);
    expect(billed).toBeLessThan(3 * spoken);
  });

  it('reports two turns in order if the first transcript comes late', async () => {
    const [first, second] = [await speak('I am the first.'), await speak('And I am the second one.')];
    fake.transcribe = async () => {
      const index = fake.requests.length;
      await new Promise((resolve) => setTimeout(resolve, index === 1 ? 400 : 0));
      return index === 1 ? 'first' : 'second';
    };
    push(first, silence(800));
    await eventually(() => fake.requests.length === 1);
    push(second, silence(800));
    await eventually(() => told.length >= 2);
    expect(told).toEqual(['end first', 'end second']);
  });

  it.each([
    ['is open', false],
    ['waits for its transcript', true],
  ])('does not report a noise as a sign of life if the next turn %s', async (_state, isOver) => {
    const [noise, words] = [await speak('Oh my!'), await speak('This is the next turn.')];
    let finishNoise = () => {};
    let finishWords = () => {};
    fake.transcribe = (pcm) =>
      new Promise((resolve) => {
        if (pcm.length < (noise.length + words.length) / 2) finishNoise = () => resolve('');
        else finishWords = () => resolve('This is the next turn.');
      });
    push(noise, silence(800));
    await eventually(() => fake.requests.length === 1);
    push(words);
    if (isOver) {
      push(silence(800));
      await eventually(() => fake.requests.length === 2);
    }
    finishNoise();
    await eventually(() => billed > 0);
    if (!isOver) {
      push(silence(800));
      await eventually(() => fake.requests.length === 2);
    }
    finishWords();
    await eventually(() => told.some((event) => event.startsWith('end ')));
    expect(told).toEqual(['end This is the next turn.']);
  });

  it('ignores the words of a discarded turn, and hears the next one', async () => {
    fake.delayMs = 100;
    push(await speak('This is discarded.'), silence(560));
    await eventually(() => fake.requests.length === 1);
    stream.discardTurn();
    await eventually(() => fake.abandoned === 1);
    fake.script(['This is another turn.']);
    push(silence(600), await speak('This is another turn.'), silence(800));
    await eventually(() => told.length > 0);
    expect(told).toEqual(['end This is another turn.']);
  });

  it('reports that it is alive if it heard no voice when the session asks for words', async () => {
    push(silence(2_000));
    stream.finalize();
    await eventually(() => told.length > 0);
    expect(told).toEqual(['alive ']);
    expect(fake.requests).toEqual([]);
  });

  it('transcribes what it has heard when the session asks for words', async () => {
    fake.script(['Hello there.']);
    push(await speak('Hello there, this goes on'), silence(100));
    stream.finalize();
    await eventually(() => told.length > 0);
    expect(told).toEqual(['end Hello there.']);
  });
});

/** Starts a server that answers every request with this status. */
async function serve(onRequest: (url: string) => void, status: number, location?: string, port = 0): Promise<Server> {
  const server = createServer((request, response) => {
    onRequest(request.url ?? '');
    request.resume();
    response.writeHead(status, location === undefined ? {} : { location }).end('{"text":"no"}');
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return server;
}
