import { GREETING } from './fakes/openai-realtime-session';
import { eventually } from './support/media-fixture';
import { ANSWER_MS, placeRealtimeCall, type RealtimeCall } from './support/realtime-call';

const WITHOUT_WORDS =
  'The appointment was talked about. The other person’s words are missing, because the transcription model was rejected.';

describe('a transcription model that the provider rejects', () => {
  let call: RealtimeCall;
  afterEach(() => call.close());

  it.each(['answers', 'closes'] as const)(
    'costs the caller’s words but not the call, if the provider %s',
    async (refusesTranscription) => {
      call = await placeRealtimeCall({ nasty: { refusesTranscription } });
      await call.greeted();
      await call.ask('Yes, that suits me.');
      await call.ask();
      expect(call.line.turns.map(({ speaker, text }) => [speaker, text]).slice(0, 4)).toEqual([
        ['agent', GREETING],
        ['caller', '(speech)'],
        ['agent', 'I see, thank you.'],
        ['caller', '(speech)'],
      ]);
      expect(call.fake.sessions.map(({ errors }) => errors)).toEqual([['invalid_model'], []]);
      expect(call.session().events[0]?.session?.audio?.input).not.toHaveProperty('transcription');
      expect(call.line.failed).toBeUndefined();
      expect((await call.line.hangUp()).summary).toBe(WITHOUT_WORDS);
    },
  );

  it('is not requested again in a later session of the call', async () => {
    call = await placeRealtimeCall({ nasty: { refusesTranscription: 'answers' } });
    await call.greeted();
    call.session().socket.terminate();
    await call.spoken(1);
    expect(call.fake.sessions.map(({ errors }) => errors)).toEqual([['invalid_model'], [], []]);
    expect(call.line.failed).toBeUndefined();
  });

  it('may be one that cannot be used with turn detection', async () => {
    call = await placeRealtimeCall({ env: { OPENAI_TRANSCRIPTION_MODEL: 'gpt-live-transcribe' } });
    await call.greeted();
    await call.ask();
    expect(call.line.callerTurns()).toEqual(['(speech)']);
    expect(call.line.failed).toBeUndefined();
  });

  it('is not mentioned in the summary if the caller never spoke', async () => {
    call = await placeRealtimeCall({ nasty: { refusesTranscription: 'answers' } });
    await call.greeted();
    expect((await call.line.hangUp()).summary).toBe('The agent spoke, but there was no reply.');
  });

  it('does not excuse settings that the provider rejects for another reason', async () => {
    call = await placeRealtimeCall({ env: { OPENAI_REALTIME_MODEL: 'gpt-7-realtime' } });
    await eventually(() => call.line.failed !== undefined, ANSWER_MS);
    expect(call.line.failed?.message).toBe('the provider rejected the session settings: invalid_model');
    expect(call.fake.upgrades()).toBe(2);
  });
});
