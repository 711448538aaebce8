import { ASIDE, BRIDGE, GREETING } from './fakes/openai-realtime-session';
import { eventually } from './support/media-fixture';
import { ANSWER_MS, placeRealtimeCall } from './support/realtime-call';
import type { RealtimeCall } from './support/realtime-call';

const LONG =
  'This is a long answer of many words, so that there is all the time in the world to press a key meanwhile.';
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('an answer that the realtime engine owes', () => {
  let call: RealtimeCall;
  afterEach(() => call.close());

  const asked = () => call.sent('response.create').length;
  const told = () => call.sent('conversation.item.create').map(({ item }) => item?.content?.[0]?.text);

  it('is asked for once more when a response has nothing in it', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    call.fake.nasty.emptyResponses = 1;
    await call.ask();
    expect(asked()).toBe(2);
    expect(call.line.agentTurns()).toEqual([GREETING, 'I see, thank you.']);
  });

  it('is not asked for a third time of a model that has nothing to say', async () => {
    call = await placeRealtimeCall();
    await call.greeted();
    call.fake.nasty.emptyResponses = 2;
    call.line.say(await call.speech('Tell me more, please.'));
    await eventually(() => asked() === 2, ANSWER_MS);
    await pause(1_500);
    expect(asked()).toBe(2);
    await call.ask();
    expect(call.line.failed).toBeUndefined();
    expect(call.fake.upgrades()).toBe(1);
  });

  it('comes to keys, even if what they interrupted ends as failed', async () => {
    call = await placeRealtimeCall({ nasty: { speed: 1 }, script: [{ hears: 'Please tell me.', says: LONG }] });
    await call.greeted();
    call.fake.nasty.failsCancelled = true;
    call.line.say(await call.speech('Please tell me.'));
    await eventually(() => call.line.isPlaying(), ANSWER_MS);
    for (const key of '1#') call.engine.onDtmf(key);
    await eventually(() => call.line.agentTurns().at(-1) === 'I see, thank you.', ANSWER_MS);
    expect(call.fake.upgrades()).toBe(1);
  });

  it('waits for a caller who presses keys while speaking', async () => {
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

  describe('while the provider is away', () => {
    /** What is told meanwhile reaches the next session, which then answers, and is not taken for stalled. */
    async function expectAnswer(text: string): Promise<void> {
      // What the fake says first in a session that goes on, or in one that was told something.
      await eventually(() => [BRIDGE, ASIDE].some((words) => call.line.agentTurns().includes(words)), ANSWER_MS);
      await pause(4_000);
      expect(told()).toContain(text);
      expect(call.fake.upgrades()).toBe(2);
      await call.ask();
      expect(call.line.failed).toBeUndefined();
    }

    const timings = { retryAfterMs: 1_500, lostAfterMs: 3_000 };

    it('comes to a tool that finishes: the next session is told', async () => {
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

    it('comes to keys that are pressed: the next session is told', async () => {
      call = await placeRealtimeCall({ timings });
      await call.greeted();
      call.session().socket.terminate();
      await pause(500);
      for (const key of '1#') call.engine.onDtmf(key);
      await expectAnswer('[The far end pressed these keys of the telephone: 1 #]');
    });
  });
});
