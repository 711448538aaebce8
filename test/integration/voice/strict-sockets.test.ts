import { tone } from '../../support/spoken';
import { createDeepgramStt } from '../../../src/voice/engines/pipeline/stt/deepgram/index.js';
import type { ProviderError } from '../../../src/voice/engines/pipeline/ports.js';
import { openFakeDeepgram, type FakeDeepgram } from './fakes/deepgram';
import { eventually } from './support/media-fixture';

const FRAME_BYTES = 160;

describe('a stream of Deepgram', () => {
  let fake: FakeDeepgram;
  let ends: string[];
  let losses: ProviderError[];
  beforeEach(async () => {
    fake = await openFakeDeepgram();
    [ends, losses] = [[], []];
  });
  afterEach(() => fake.close());

  function account(model: string) {
    return createDeepgramStt({ baseUrl: `ws://127.0.0.1:${fake.port}`, apiKey: 'stt-key', model });
  }

  function open(stt: ReturnType<typeof createDeepgramStt>) {
    return stt.open(
      { language: 'en-US', settings: {} },
      {
        onInterim: () => undefined,
        onProbableEnd: () => undefined,
        onTurnContinued: () => undefined,
        onEnd: (text) => void ends.push(text),
        onActivity: () => undefined,
        onLost: (error) => void losses.push(error),
      },
    );
  }

  function speakTo(stream: ReturnType<typeof open>): void {
    const audio = tone(440, 600);
    for (let at = 0; at < audio.length; at += FRAME_BYTES) stream.push(audio.subarray(at, at + FRAME_BYTES));
  }

  it('of Flux ends its turn when asked', async () => {
    fake.script(['Yes.']);
    const stream = open(account('flux-general-en'));
    speakTo(stream);
    stream.finalize();
    await eventually(() => ends.length > 0);
    stream.close();
    expect([ends, losses]).toEqual([['Yes.'], []]);
  });

  it('of a deployment that cannot end turns is asked only once', async () => {
    fake.endsTurns = false;
    const stt = account('flux-general-en');
    open(stt).finalize();
    await eventually(() => losses.length > 0);
    expect(losses[0]?.report).toMatchObject({ provider: 'deepgram', code: 'UNPARSABLE_CLIENT_MESSAGE' });
    const second = open(stt);
    speakTo(second);
    second.finalize();
    await eventually(() => fake.urls.length === 2);
    await new Promise((resolve) => setTimeout(resolve, 300));
    second.close();
    expect(losses).toHaveLength(1);
    expect(fake.controls.filter((type) => type === 'ForceEndTurn')).toHaveLength(1);
  });

  it('of Nova answers a finalization with the words so far', async () => {
    fake.script(['Yes.']);
    const interims: string[] = [];
    const stream = account('nova-3').open(
      { language: 'en-US', settings: {} },
      {
        onInterim: (text) => void interims.push(text),
        onProbableEnd: () => undefined,
        onTurnContinued: () => undefined,
        onEnd: () => undefined,
        onActivity: () => undefined,
        onLost: (error) => void losses.push(error),
      },
    );
    speakTo(stream);
    stream.finalize();
    await eventually(() => interims.at(-1) === 'Yes.');
    stream.close();
    expect(losses).toEqual([]);
  });

  it.each([
    ['key', 'nova-3', 'other-key', { status: 401, code: 'INVALID_AUTH', message: 'Invalid credentials.' }],
    ['model', 'nova-9', 'stt-key', { status: 400, message: 'No such model/language/tier combination found.' }],
  ])('with a wrong %s is rejected with the reason', async (_, model, apiKey, report) => {
    open(createDeepgramStt({ baseUrl: `ws://127.0.0.1:${fake.port}`, apiKey, model }));
    await eventually(() => losses.length > 0);
    expect(losses[0]?.report).toMatchObject({ provider: 'deepgram', ...report });
    expect(losses[0]?.report.requestId).toMatch(/^[\da-f-]{36}$/);
  });
});
