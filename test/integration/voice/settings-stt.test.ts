import { Agent } from 'undici';
import type { ConversationSettings } from '../../../src/kernel/conversation/conversation-settings.js';
import { createSynthesizer } from '../../../src/voice/audio/flite.js';
import { decodeMulaw, encodeMulaw } from '../../../src/voice/audio/mulaw.js';
import { loadVoiceActivity } from '../../../src/voice/audio/voice-activity.js';
import type { FailureReport } from '../../../src/voice/models/failure-report.js';
import type { ProviderError, SttEvents } from '../../../src/voice/engines/pipeline/ports.js';
import { createDeepgramStt } from '../../../src/voice/engines/pipeline/stt/deepgram/index.js';
import { createOpenAiStt } from '../../../src/voice/engines/pipeline/stt/openai-transcriptions.js';
import { silence, withoutSilence } from '../../support/spoken';
import { openFakeDeepgram, type FakeDeepgram } from './fakes/deepgram';
import { openFakeTranscriptions, type FakeTranscriptions } from './fakes/transcriptions';
import { eventually } from './support/media-fixture';

const KEYTERMS = ['Callwright', 'Dr. Nguyen & Co'];
/** An error that quotes the terms, and what a report has of it. */
const QUOTING = 'Too many terms: Callwright Dr. Nguyen & Co';
const QUOTED = 'Too many terms: … & Co';

function eventsOf(onText: (text: string) => void = () => undefined): SttEvents {
  const nothing = () => undefined;
  return {
    onInterim: nothing,
    onProbableEnd: nothing,
    onTurnContinued: nothing,
    onEnd: onText,
    onActivity: nothing,
    onLost: ({ message, report }) => onText(report.message ?? message),
  };
}

describe('an agent’s settings on the wire to Deepgram', () => {
  let fake: FakeDeepgram;
  beforeEach(async () => {
    fake = await openFakeDeepgram();
  });
  afterEach(() => fake.close());

  /** Opens a stream. @returns its parameters, and the settings that were ignored */
  async function open(model: string, settings: ConversationSettings, language = 'en-US') {
    const ignored: string[] = [];
    const stream = createDeepgramStt({ baseUrl: `ws://127.0.0.1:${fake.port}`, apiKey: 'stt-key', model }).open(
      { language, settings, onIgnored: (names) => void ignored.push(...names) },
      eventsOf(),
    );
    await eventually(() => fake.urls.length + fake.invalid.length > 0);
    stream.close();
    expect(fake.invalid).toEqual([]);
    return { query: fake.urls.at(-1)?.searchParams ?? new URLSearchParams(), ignored };
  }

  it.each([
    ['nova-3', 'keyterm'],
    ['nova-2-phonecall', 'keywords'],
    ['flux-general-en', 'keyterm'],
  ])('names each term to %s in a parameter %s', async (model, parameter) => {
    const { query } = await open(model, { keyterms: KEYTERMS });
    expect(query.getAll(parameter)).toEqual(KEYTERMS);
  });

  it.each(['nova-3', 'flux-general-en'])('names only as many terms as %s accepts', async (model) => {
    const keyterms = Array.from({ length: 100 }, (_, i) => `${i}`.padStart(50, 'x'));
    const { query, ignored } = await open(model, { keyterms });
    expect(query.getAll('keyterm').length).toBe(20);
    expect(ignored).toEqual(['keyterms']);
  });

  it.each([
    [undefined, '300', '1000'],
    [200, '200', '1000'],
    [700, '300', '1000'],
    [2_500, '300', '2500'],
  ])('asks Nova for pauses that fit a turn ended by %s ms of silence', async (endOfTurnSilenceMs, pause, end) => {
    const { query } = await open('nova-3', endOfTurnSilenceMs === undefined ? {} : { endOfTurnSilenceMs });
    expect([query.get('endpointing'), query.get('utterance_end_ms')]).toEqual([pause, end]);
  });

  it.each([
    [{}, '0.7', '5000'],
    [{ endOfTurnConfidence: 0.5, endOfTurnSilenceMs: 200 }, '0.5', '500'],
    [{ endOfTurnConfidence: 0.9, endOfTurnSilenceMs: 3_000 }, '0.9', '3000'],
    [{ endOfTurnConfidence: 1 }, '0.9', '5000'],
  ])('asks Flux to end turns as %j says', async (settings, confidence, timeout) => {
    const { query } = await open('flux-general-en', settings);
    expect([query.get('eot_threshold'), query.get('eot_timeout_ms')]).toEqual([confidence, timeout]);
  });

  it.each(['nova-3', 'flux-general-en'])('are not quoted if the provider rejects the terms for %s', async (model) => {
    fake.faults.push({ kind: 'refuse', status: 400, headers: { 'dg-error': QUOTING } });
    const [report] = await new Promise<FailureReport[]>((resolve) => {
      const account = { baseUrl: `ws://127.0.0.1:${fake.port}`, apiKey: 'stt-key', model };
      const lost = ({ report: given }: ProviderError) => resolve([given]);
      const options = { language: 'en-US', settings: { keyterms: KEYTERMS } };
      createDeepgramStt(account).open(options, { ...eventsOf(), onLost: lost });
    });
    expect(report).toMatchObject({ provider: 'deepgram', status: 400, message: QUOTED });
  });

  it('reports the settings that a model does not have', async () => {
    const settings = { endOfTurnEagerness: 'low', endOfTurnConfidence: 0.8, keyterms: ['A'] } as const;
    expect((await open('nova-3', settings)).ignored).toEqual(['endOfTurnEagerness', 'endOfTurnConfidence']);
    expect((await open('flux-general-en', settings)).ignored).toEqual(['endOfTurnEagerness']);
    const clamped = { endOfTurnConfidence: 1, endOfTurnSilenceMs: 200 };
    expect((await open('flux-general-en', clamped)).ignored).toEqual(['endOfTurnConfidence', 'endOfTurnSilenceMs']);
  });
});

describe('an agent’s settings on the wire to a transcription server', () => {
  const dispatcher = new Agent();
  const callers = createSynthesizer();
  afterAll(async () => {
    await dispatcher.destroy();
    await callers.close();
  });

  /** @param loudness a factor */
  async function transcribe(
    model: string,
    settings: ConversationSettings,
    fault?: FakeTranscriptions['faults'][0],
    loudness = 1,
  ) {
    const fake = await openFakeTranscriptions();
    if (fault !== undefined) fake.faults.push(fault);
    const newDetector = await loadVoiceActivity();
    const ignored: string[] = [];
    const ends: string[] = [];
    fake.unscripted = 'Yes.';
    const stream = createOpenAiStt(
      { baseUrl: `http://127.0.0.1:${fake.port}/v1`, apiKey: '', model },
      { dispatcher, newDetector },
    ).open(
      { language: 'en-US', settings, onIgnored: (names) => void ignored.push(...names) },
      eventsOf((text) => void ends.push(text)),
    );
    const audio = Buffer.concat([
      encodeMulaw(decodeMulaw(withoutSilence(await callers.speak('Yes, of course.', 'rms'))).map((x) => x * loudness)),
      silence(800),
    ]);
    for (let at = 0; at + 160 <= audio.length; at += 160) stream.push(audio.subarray(at, at + 160));
    await eventually(() => fake.invalid.length > 0 || ends.length > 0 || fake.requests.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 200));
    stream.close();
    await fake.close();
    return { fields: fake.requests.at(-1)?.fields ?? {}, invalid: fake.invalid, ends, ignored: new Set(ignored) };
  }

  it.each([
    ['gpt-transcribe', { 'keywords[]': KEYTERMS.join('|') }],
    ['whisper-1', { prompt: KEYTERMS.join(', ') }],
    ['gpt-4o-transcribe-diarize', {}],
  ])('names terms to %s as it takes them', async (model, expected) => {
    const { fields, invalid, ignored } = await transcribe(model, { keyterms: KEYTERMS });
    const { 'keywords[]': keywords, prompt } = fields;
    expect(invalid).toEqual([]);
    expect({ 'keywords[]': keywords, prompt }).toEqual({ 'keywords[]': undefined, prompt: undefined, ...expected });
    expect([...ignored]).toEqual(Object.keys(expected).length === 0 ? ['keyterms'] : []);
  });

  it('are not quoted if the server rejects them', async () => {
    const fault = { kind: 'status', status: 400, message: QUOTING } as const;
    expect((await transcribe('gpt-transcribe', { keyterms: KEYTERMS }, fault)).ends).toEqual([QUOTED]);
  });

  it('hears a quiet voice if the agent lowers the certainty of voice activity detection', async () => {
    expect((await transcribe('whisper-1', { vadThreshold: 0 }, undefined, 1 / 30)).ends).toEqual(['Yes.']);
  });

  it('ends a turn after the silence that the agent names', async () => {
    expect((await transcribe('whisper-1', { endOfTurnSilenceMs: 700 })).ends).toEqual(['Yes.']);
    expect((await transcribe('whisper-1', { endOfTurnSilenceMs: 1_500 })).ends).toEqual([]);
  });
});
