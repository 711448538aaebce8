import { WebSocket } from 'ws';
import { createDeepgramStt } from '../../../src/voice/engines/pipeline/stt/deepgram/index.js';
import { LANGUAGES } from '../../../src/kernel/conversation/voices.js';
import { openFakeDeepgram } from './fakes/deepgram';
import { openLoopback } from './fakes/loopback';
import { eventually } from './support/media-fixture';
import { openPipeline, waitForGreeting } from './support/pipeline-harness';
import type { PipelineHarness } from './support/pipeline-harness';

const ANSWER_MS = 20_000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.each(['nova-3', 'flux-general-en'])('the pipeline engine with the STT model %s', (sttModel) => {
  let pipeline: PipelineHarness;
  let line: ReturnType<PipelineHarness['dial']>;
  beforeAll(async () => {
    pipeline = await openPipeline({ sttModel });
    await pipeline.factory.warm();
  });
  afterEach(() => line.hangUp());
  afterAll(() => pipeline.close());

  /** Starts a call and waits until the agent has said its greeting. */
  async function startGreetedCall(script: readonly string[]): Promise<void> {
    pipeline.stt.script(script);
    line = pipeline.dial();
    await waitForGreeting(line);
  }

  it('requests telephone audio, with the API key, and uses the transcript of the STT provider', async () => {
    await startGreetedCall(['Yes, that suits me.']);
    line.say(await pipeline.speak('Yes, that suits me.'));
    await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
    const url = pipeline.stt.urls.at(-1);
    expect(url?.pathname).toBe(sttModel === 'nova-3' ? '/v1/listen' : '/v2/listen');
    expect(url?.searchParams.get('encoding')).toBe('mulaw');
    expect(url?.searchParams.get('sample_rate')).toBe('8000');
    expect(pipeline.stt.authorizations.at(-1)).toBe('Token stt-key');
    expect(line.callerTurns()).toEqual(['Yes, that suits me.']);
    const [latency] = line.latencies;
    const { recogniser = NaN, model = NaN, voice = NaN, own = NaN } = latency?.parts ?? {};
    expect(Math.abs(recogniser + model + voice + own - (latency?.totalMs ?? 0))).toBeLessThanOrEqual(4);
    expect(recogniser).toBeGreaterThan(200);
  });

  it('uses only final transcripts if interim ones change', async () => {
    await startGreetedCall(['My number is four one five two zero nine.']);
    line.say(await pipeline.speak('My number is four one five two zero nine.'));
    await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
    expect(line.callerTurns()).toEqual(['My number is four one five two zero nine.']);
    const asked = pipeline.chat.requests.at(-1)?.messages.at(-1);
    expect(asked).toEqual({ role: 'user', content: 'My number is four one five two zero nine.' });
  });

  it('reverts an early reply if the turn continues after a pause, and replies to the whole turn', async () => {
    await startGreetedCall(['Tomorrow | or the day after.']);
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

  it('repeats the request after a 429', async () => {
    pipeline.stt.faults.push({ kind: 'refuse', status: 429, headers: { 'retry-after': '1' } });
    await startGreetedCall(['Yes.']);
    line.say(await pipeline.speak('Yes, it does.'));
    await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
    expect(line.callerTurns()).toEqual(['Yes.']);
  });

  it('sends the turn again on a new stream if the stream closes during the turn', async () => {
    pipeline.stt.faults.push({ kind: 'close', code: 1011 });
    await startGreetedCall(['Yes, that suits me.']);
    line.say(await pipeline.speak('Yes, that suits me.'));
    await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
    expect(line.callerTurns()).toEqual(['Yes, that suits me.']);
    expect(line.failed).toBeUndefined();
  });

  it('sends the turn again on a new stream after garbage', async () => {
    pipeline.stt.faults.push({ kind: 'garbage', text: '{"type":"Results","chann' });
    await startGreetedCall(['Yes, that suits me.']);
    line.say(await pipeline.speak('Yes, that suits me.'));
    await eventually(() => line.agentTurns().length === 2, ANSWER_MS);
    expect(line.callerTurns()).toEqual(['Yes, that suits me.']);
  });

  it('speaks a filler during a stall and sends the turn again on a new stream', async () => {
    pipeline.stt.faults.push({ kind: 'stall' });
    await startGreetedCall(['Yes, that suits me.']);
    line.say(await pipeline.speak('Yes, that suits me.'));
    await eventually(() => line.agentTurns().length === 3, ANSWER_MS);
    expect(line.agentTurns().slice(1)).toEqual(['One moment, please.', 'I see.']);
    expect(line.callerTurns()).toEqual(['Yes, that suits me.']);
  });

  it('apologises after a second broken stream, and fails the call when the apology was played', async () => {
    pipeline.stt.faults.push({ kind: 'close', code: 1011 }, { kind: 'close', code: 1011 });
    await startGreetedCall(['Never understood.']);
    line.say(await pipeline.speak('Yes, that suits me.'));
    await eventually(() => line.failed !== undefined, ANSWER_MS);
    expect(line.failed?.message).toBe('the speech-to-text provider closed the connection with code 1011');
    expect(line.agentTurns().at(-1)).toMatch(/^I am sorry/);
    expect(line.callerTurns()).toEqual([]);
  });
});

describe('STT languages', () => {
  it('are requested as the provider writes them, for every language of the service', async () => {
    const fake = await openFakeDeepgram();
    const losses: string[] = [];
    const told = () => undefined;
    const events = { onInterim: told, onProbableEnd: told, onTurnContinued: told, onEnd: told, onActivity: told };
    const stt = createDeepgramStt({
      baseUrl: `ws://127.0.0.1:${fake.port}`,
      apiKey: 'stt-key',
      model: 'nova-3',
    });
    const streams = LANGUAGES.map(({ tag }) =>
      stt.open(
        { language: tag, settings: {} },
        { ...events, onLost: ({ message }) => void losses.push(`${tag} ${message}`) },
      ),
    );
    await eventually(() => fake.urls.length + losses.length === LANGUAGES.length);
    for (const stream of streams) stream.close();
    await fake.close();
    expect(losses).toEqual([]);
    const asked = new Set(fake.urls.map(({ searchParams }) => searchParams.get('language')));
    expect(asked).toEqual(new Set('en-US en-GB de es es-419 fr hi it ja nl pt-BR'.split(' ')));
  });
});

describe('late STT results', () => {
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
  ])('of a turn that was ended without them are ignored: %s', async (model, first, late, next) => {
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
    const stream = createDeepgramStt({ baseUrl, apiKey: 'stt-key', model }).open(
      { language: 'en-US', settings: {} },
      {
        onInterim: tell,
        onProbableEnd: tell,
        onEnd: tell,
        onTurnContinued: () => undefined,
        onActivity: () => undefined,
        onLost: ({ message }) => tell(message),
      },
    );
    const speak = async (untilMs: number) => {
      for (let ms = 0; ms < 1_000; ms += 20) stream.push(new Uint8Array(160));
      await eventually(() => audioMs >= untilMs);
    };
    try {
      await speak(1_000);
      provider?.send(JSON.stringify(first));
      await eventually(() => told.length > 0);
      stream.discardTurn();
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

describe('STT without audio', () => {
  it('keeps its stream open with KeepAlive for more than 10 s, without the close NET-0001', async () => {
    const fake = await openFakeDeepgram();
    const baseUrl = `ws://127.0.0.1:${fake.port}`;
    const losses: Error[] = [];
    const told = () => undefined;
    const events = { onInterim: told, onProbableEnd: told, onTurnContinued: told, onEnd: told, onActivity: told };
    const streams = ['nova-3', 'flux-general-en'].map((model) =>
      createDeepgramStt({ baseUrl, apiKey: 'stt-key', model }).open(
        { language: 'en-US', settings: {} },
        {
          ...events,
          onLost: (error) => void losses.push(error),
        },
      ),
    );
    for (const stream of streams) stream.push(new Uint8Array(160).fill(0xff));
    // Shows that the fake closes a connection on which no message arrives. Otherwise this test would prove nothing.
    const headers = { authorization: 'Token stt-key' };
    const mute = new WebSocket(`${baseUrl}/v1/listen?model=nova-3`, { headers });
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

/** Trims the silence before and after the speech. */
function withoutSilence(mulaw: Uint8Array): Uint8Array {
  const isLoud = (byte: number) => (byte & 0x7f) < 0x60;
  return mulaw.subarray(mulaw.findIndex(isLoud), mulaw.findLastIndex(isLoud) + 1);
}
