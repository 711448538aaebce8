import { WebSocket } from 'ws';
import { createDeepgramRecogniser } from '../../../src/voice/engines/pipeline/stt/deepgram.js';
import { LANGUAGES } from '../../../src/kernel/voices.js';
import { openFakeDeepgram } from './fakes/deepgram';
import { openLoopback } from './fakes/loopback';
import { eventually } from './support/media-fixture';
import { openPipeline } from './support/pipeline-harness';
import type { PipelineHarness } from './support/pipeline-harness';

const ANSWER_MS = 20_000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.each(['nova-3', 'flux-general-en'])(
  'the pipeline engine and a recogniser of the model %s',
  (recogniserModel) => {
    let pipeline: PipelineHarness;
    let line: ReturnType<PipelineHarness['dial']>;
    beforeAll(async () => {
      pipeline = await openPipeline({ recogniserModel });
      await pipeline.factory.warm();
    });
    afterEach(() => line.hangUp());
    afterAll(() => pipeline.close());

    /** A call in which the agent has greeted. */
    async function greeted(script: readonly string[]): Promise<void> {
      pipeline.stt.script(script);
      line = pipeline.dial();
      await eventually(() => line.agentTurns().length === 1 && !line.isPlaying(), ANSWER_MS);
    }

    it('asks for telephone audio, with the key, and leaves the words to the recogniser', async () => {
      await greeted(['Yes, that suits me.']);
      line.say(await pipeline.speak('Yes, that suits me.'));
      await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
      const url = pipeline.stt.urls.at(-1);
      expect(url?.pathname).toBe(recogniserModel === 'nova-3' ? '/v1/listen' : '/v2/listen');
      expect(url?.searchParams.get('encoding')).toBe('mulaw');
      expect(url?.searchParams.get('sample_rate')).toBe('8000');
      expect(pipeline.stt.authorizations.at(-1)).toBe('Token stt-key');
      expect(line.callerTurns()).toEqual(['Yes, that suits me.']);
      const [latency] = line.latencies;
      const { recogniser = NaN, model = NaN, voice = NaN, own = NaN } = latency?.parts ?? {};
      expect(Math.abs(recogniser + model + voice + own - (latency?.totalMs ?? 0))).toBeLessThanOrEqual(4);
      expect(recogniser).toBeGreaterThan(200);
    });

    it('interim results that change: only the final words count', async () => {
      await greeted(['My number is four one five two zero nine.']);
      line.say(await pipeline.speak('My number is four one five two zero nine.'));
      await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
      expect(line.callerTurns()).toEqual(['My number is four one five two zero nine.']);
      const asked = pipeline.chat.requests.at(-1)?.messages.at(-1);
      expect(asked).toEqual({ role: 'user', content: 'My number is four one five two zero nine.' });
    });

    it('a turn that goes on after a pause: what was begun early is taken back, and answered as one turn', async () => {
      await greeted(['Tomorrow | or the day after.']);
      pipeline.chat.answers.set('Tomorrow', { says: 'This must never be heard.' });
      pipeline.chat.answers.set('Tomorrow or the day after.', { says: 'Which of the two?' });
      const [first, second] = [await pipeline.speak('Tomorrow'), await pipeline.speak('Or the day after.')];
      const before = pipeline.chat.requests.length;
      line.say(withoutSilence(first));
      line.say(new Uint8Array(8 * 440).fill(0xff));
      line.say(second);
      await eventually(() => line.agentTurns().length === 2 && !line.isPlaying(), ANSWER_MS);
      expect(line.callerTurns()).toEqual(['Tomorrow or the day after.']);
      expect(line.agentTurns()[1]).toBe('Which of the two?');
      const asked = pipeline.chat.requests.slice(before).map(({ messages }) => messages.at(-1)?.content);
      expect(asked).toContain('Tomorrow');
      expect(asked).toContain('Tomorrow or the day after.');
    });

    it('the recogniser refuses with 429: it is asked again', async () => {
      pipeline.stt.faults.push({ kind: 'refuse', status: 429, headers: { 'retry-after': '1' } });
      await greeted(['Yes.']);
      line.say(await pipeline.speak('Yes, it does.'));
      await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
      expect(line.callerTurns()).toEqual(['Yes.']);
    });

    it('the recogniser closes in the middle of the turn: a new stream hears the turn again', async () => {
      pipeline.stt.faults.push({ kind: 'close', code: 1011 });
      await greeted(['Yes, that suits me.']);
      line.say(await pipeline.speak('Yes, that suits me.'));
      await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
      expect(line.callerTurns()).toEqual(['Yes, that suits me.']);
      expect(line.failed).toBeUndefined();
    });

    it('the recogniser sends garbage: a new stream hears the turn again', async () => {
      pipeline.stt.faults.push({ kind: 'garbage', text: '{"type":"Results","chann' });
      await greeted(['Yes, that suits me.']);
      line.say(await pipeline.speak('Yes, that suits me.'));
      await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
      expect(line.callerTurns()).toEqual(['Yes, that suits me.']);
    });

    it('the recogniser stalls: the caller is told to wait, and a new stream hears the turn again', async () => {
      pipeline.stt.faults.push({ kind: 'stall' });
      await greeted(['Yes, that suits me.']);
      line.say(await pipeline.speak('Yes, that suits me.'));
      await eventually(() => line.agentTurns().length === 3, ANSWER_MS);
      expect(line.agentTurns().slice(1)).toEqual(['One moment, please.', 'I see.']);
      expect(line.callerTurns()).toEqual(['Yes, that suits me.']);
    });

    it('the recogniser breaks off twice: the agent says sorry, and the call fails when that was heard', async () => {
      pipeline.stt.faults.push({ kind: 'close', code: 1011 }, { kind: 'close', code: 1011 });
      await greeted(['Never understood.']);
      line.say(await pipeline.speak('Yes, that suits me.'));
      await eventually(() => line.failed !== undefined, ANSWER_MS);
      expect(line.failed?.message).toBe('recogniser: closed the connection with 1011');
      expect(line.agentTurns().at(-1)).toMatch(/^I am sorry/);
      expect(line.callerTurns()).toEqual([]);
    });
  },
);

describe('a recogniser by languages', () => {
  it('is asked for every language of the service as the provider writes it', async () => {
    const fake = await openFakeDeepgram();
    const losses: string[] = [];
    const told = () => undefined;
    const events = { onWords: told, onMayEnd: told, onGoesOn: told, onEnd: told, onAlive: told };
    const recogniser = createDeepgramRecogniser({
      baseUrl: `ws://127.0.0.1:${fake.port}`,
      apiKey: 'key',
      model: 'nova-3',
    });
    const streams = LANGUAGES.map(({ tag }) =>
      recogniser.open(tag, { ...events, onLost: ({ message }) => void losses.push(`${tag} ${message}`) }),
    );
    await eventually(() => fake.urls.length + losses.length === LANGUAGES.length);
    for (const stream of streams) stream.close();
    await fake.close();
    expect(losses).toEqual([]);
    const asked = new Set(fake.urls.map(({ searchParams }) => searchParams.get('language')));
    expect(asked).toEqual(new Set('en-US en-GB de es es-419 fr hi it ja nl pt-BR'.split(' ')));
  });
});

describe('a recogniser that is late', () => {
  const results = (transcript: string, start: number, isFinal: boolean) => ({
    type: 'Results',
    start,
    duration: 1,
    is_final: isFinal,
    speech_final: isFinal,
    channel: { alternatives: [{ transcript }] },
  });
  const turnInfo = (event: string, transcript: string, index: number) => ({
    type: 'TurnInfo',
    event,
    transcript,
    turn_index: index,
  });

  it.each([
    ['nova-3', results('Yes', 0, false), results('Yes.', 0, true), results('No.', 1, true)],
    ['flux-general-en', turnInfo('Update', 'Yes', 0), turnInfo('EndOfTurn', 'Yes', 0), turnInfo('EndOfTurn', 'No.', 1)],
  ])('tells the words of a turn that was ended without it no second time: %s', async (model, first, late, next) => {
    let provider: WebSocket | undefined;
    let audioMs = 0;
    const loopback = await openLoopback({
      onSocket(socket) {
        provider = socket;
        socket.on('message', (data: Buffer, isBinary) => (audioMs += isBinary ? data.length / 8 : 0));
      },
    });
    const told: string[] = [];
    const tell = (text: string) => void told.push(text);
    const baseUrl = `ws://127.0.0.1:${loopback.port}`;
    const stream = createDeepgramRecogniser({ baseUrl, apiKey: 'key', model }).open('en-US', {
      onWords: tell,
      onMayEnd: tell,
      onEnd: tell,
      onGoesOn: () => undefined,
      onAlive: () => undefined,
      onLost: ({ message }) => tell(message),
    });
    const speak = async (untilMs: number) => {
      for (let ms = 0; ms < 1_000; ms += 20) stream.push(new Uint8Array(160));
      await eventually(() => audioMs >= untilMs);
    };
    try {
      await speak(1_000);
      provider?.send(JSON.stringify(first));
      await eventually(() => told.length > 0);
      stream.forget();
      provider?.send(JSON.stringify(late));
      await speak(2_000);
      provider?.send(JSON.stringify(next));
      await eventually(() => told.includes('No.'));
      expect([...new Set(told)]).toEqual(['Yes', 'No.']);
      expect(told.filter((text) => text === 'Yes')).toHaveLength(1);
    } finally {
      stream.close();
      await loopback.close();
    }
  });
});

describe('a recogniser that hears nothing', () => {
  it('no audio for 10 s: KeepAlive spares the stream the close by NET-0001', async () => {
    const fake = await openFakeDeepgram();
    const baseUrl = `ws://127.0.0.1:${fake.port}`;
    const losses: Error[] = [];
    const told = () => undefined;
    const events = { onWords: told, onMayEnd: told, onGoesOn: told, onEnd: told, onAlive: told };
    const streams = ['nova-3', 'flux-general-en'].map((model) =>
      createDeepgramRecogniser({ baseUrl, apiKey: 'key', model }).open('en-US', {
        ...events,
        onLost: (error) => void losses.push(error),
      }),
    );
    for (const stream of streams) stream.push(new Uint8Array(160).fill(0xff));
    // Without a word the fake does close: else this proves nothing.
    const mute = new WebSocket(`${baseUrl}/v1/listen`);
    const closed = new Promise<number>((resolve) => mute.once('close', resolve));
    expect(await closed).toBe(1_011);
    await pause(2_000);
    expect(fake.idleCloses).toBe(1);
    expect(losses).toEqual([]);
    expect(fake.controls).toContain('KeepAlive');
    for (const stream of streams) stream.close();
    await eventually(() => fake.openSockets() === 0);
    await fake.close();
  }, 30_000);
});

/** Speech without what is silent before and after it. */
function withoutSilence(mulaw: Uint8Array): Uint8Array {
  const isLoud = (byte: number) => (byte & 0x7f) < 0x60;
  return mulaw.subarray(mulaw.findIndex(isLoud), mulaw.findLastIndex(isLoud) + 1);
}
