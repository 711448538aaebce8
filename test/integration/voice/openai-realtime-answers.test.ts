import { ASIDE, BRIDGE, GREETING } from './fakes/openai-realtime-session';
import { eventually } from './support/media-fixture';
import { ANSWER_MS, placeRealtimeCall } from './support/realtime-call';
import type { RealtimeCall } from './support/realtime-call';

const LONG =
  'This is a long answer of many words, so that there is all the time in the world to press a key meanwhile.';
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a pending reply of the realtime engine', () => {
  let call: RealtimeCall;
  afterEach(() => call.close());

  const responseRequests = () => call.sent('response.create').length;
  const itemTexts = () => call.sent('conversation.item.create').map(({ item }) => item?.content?.[0]?.text);

  it('is requested again when a response is empty', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    call.fake.nasty.emptyResponses = 1;
    await call.ask();
    expect(responseRequests()).toBe(2);
    expect(call.line.agentTurns()).toEqual([GREETING, 'I see, thank you.']);
  });

  it('is not requested a third time if the model has nothing to say', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    call.fake.nasty.emptyResponses = 2;
    call.line.say(await call.speech('Tell me more, please.'));
    await eventually(() => responseRequests() === 2, ANSWER_MS);
    await pause(1_500);
    expect(responseRequests()).toBe(2);
    await call.ask();
    expect(call.line.failed).toBeUndefined();
    expect(call.fake.upgrades()).toBe(1);
  });

  it('is requested again when a response that was requested fails before it is reported as created', async () => {
    call = await placeRealtimeCall({ nasty: { failBeforeCreated: 1 } });
    await call.greeted();
    expect(responseRequests()).toBe(2);
    expect(call.line.agentTurns()).toEqual([GREETING]);
    expect(call.fake.upgrades()).toBe(1);
  });

  it('is requested when the response that the provider began fails before it is reported as created', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    call.fake.nasty.failBeforeCreated = 1;
    await call.ask();
    expect(responseRequests()).toBe(2);
    expect(call.line.agentTurns()).toEqual([GREETING, 'I see, thank you.']);
    expect(call.fake.upgrades()).toBe(1);
  });

  it('follows DTMF digits even if the response they interrupted ends as failed', async () => {
    call = await placeRealtimeCall({ nasty: { speed: 1 }, script: [{ hears: 'Please tell me.', says: LONG }] });
    await call.greeted();
    call.fake.nasty.failsCancelled = true;
    call.line.say(await call.speech('Please tell me.'));
    await eventually(() => call.line.isPlaying(), ANSWER_MS);
    for (const key of '1#') call.engine.onDtmf(key);
    await eventually(() => call.line.agentTurns().at(-1) === 'I see, thank you.', ANSWER_MS);
    expect(call.fake.upgrades()).toBe(1);
  });

  it('follows words that the caller typed', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    call.engine.onText?.('Monday at ten.');
    await eventually(() => call.line.agentTurns().length > 1, ANSWER_MS);
    expect(itemTexts()).toContain('Monday at ten.');
    expect(call.line.callerTurns()).toEqual(['Monday at ten.']);
    expect(call.line.failed).toBeUndefined();
  });

  it('waits for a caller who presses digits while speaking', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    call.line.say(await call.speech('Please let me tell you what I have seen there on that day, and what came of it.'));
    await pause(1_000);
    const pressedMs = call.line.now();
    for (const key of '1#') call.engine.onDtmf(key);
    await eventually(() => !call.line.callerSpeaks(), ANSWER_MS);
    expect(call.line.events.filter(({ kind, atMs }) => kind === 'audio' && atMs > pressedMs)).toEqual([]);
    await eventually(() => call.line.agentTurns().at(-1) === 'I see, thank you.', ANSWER_MS);
    expect(call.line.callerTurns()[0]).toBe('(keys: 1 #)');
  });

  describe('while the provider is unavailable', () => {
    /**
     * Asserts that input from the time of the outage reaches the next session, and that this session replies and does
     * not count as stalled.
     */
    async function expectAnswer(text: string): Promise<void> {
      // When the new session begins, the fake provider says one of these sentences before it answers anything.
      await eventually(() => [BRIDGE, ASIDE].some((words) => call.line.agentTurns().includes(words)), ANSWER_MS);
      await pause(4_000);
      expect(itemTexts()).toContain(text);
      expect(call.fake.upgrades()).toBe(2);
      await call.ask();
      expect(call.line.failed).toBeUndefined();
    }

    const timings = { retryAfterMs: 1_500, lostAfterMs: 3_000 };

    it('follows a tool result, which is passed to the next session', async () => {
      let finish = (): void => undefined;
      call = await placeRealtimeCall({
        timings,
        script: [{ hears: 'Look it up.', calls: { name: 'look_up', arguments: {} } }],
        answerTool: () => new Promise((resolve) => (finish = () => resolve({ ok: true, result: 'found' }))),
      });
      await call.greeted();
      call.line.say(await call.speech('Look it up.'));
      await eventually(() => call.line.tools.length > 0, ANSWER_MS);
      call.session().socket.terminate();
      await pause(500);
      finish();
      await expectAnswer('The tool look_up answered: ⟦"found"⟧');
    });

    it('follows DTMF digits, which are passed to the next session', async () => {
      call = await placeRealtimeCall({ timings });
      await call.greeted();
      call.session().socket.terminate();
      await pause(500);
      for (const key of '1#') call.engine.onDtmf(key);
      await expectAnswer('[The other person pressed these keys on the phone: 1 #]');
    });
  });
});
