import { createOfflineEngine } from '../../src/voice/engines/offline/index.js';
import { connect, until } from '../support/engine-line';
import { eventually } from '../integration/voice/support/media-fixture';
import { ANSWER_MS, placeRealtimeCall } from '../integration/voice/support/realtime-call';
import { openStage, type Stage } from '../support/pipeline-stage';

const MINUTE_MS = 60_000;
/** The maximum number of replies in the first minute: 6 at once, and one more every 2.5 s. */
const MOST_REPLIES = 6 + 24;
/** The maximum number of groups of DTMF digits in a minute, with at least 1.5 s between two groups. */
const MOST_GROUPS = 41;

describe('a remote party that provokes endless replies at the operator’s cost', () => {
  describe('in the pipeline engine', () => {
    let stage: Stage;
    let asked: number;

    beforeEach(async () => {
      jest.useFakeTimers();
      stage = await openStage({ detectsEndOfTurn: true });
      asked = stage.requests.length;
    });

    afterEach(async () => {
      await stage.close();
      jest.useRealTimers();
    });

    const replies = () => stage.requests.length - asked;
    const dtmfTurns = () => stage.said().filter((line) => line.startsWith('caller: (keys: '));
    const dtmfDigits = () =>
      dtmfTurns()
        .join('')
        .replace(/[^\d#*]/g, '');

    async function forAMinute(everyMs: number, act: (count: number) => void | Promise<void>): Promise<void> {
      const until = stage.now() + MINUTE_MS;
      for (let count = 1; stage.now() < until; count += 1) {
        await act(count);
        await stage.pass(everyMs);
      }
    }

    it('gets few replies to a pound key pressed ten times a second', async () => {
      await forAMinute(100, () => stage.presses('#'));
      expect(replies()).toBeLessThan(12);
      expect(dtmfTurns().length).toBeLessThan(12);
      await stage.pass(4_000);
      expect(dtmfDigits()).toHaveLength(600);
    });

    it('gets one reply per 1.5 s to numbers entered as fast as possible, and no digit is lost', async () => {
      let pressed = '';
      await forAMinute(200, (count) => {
        const keys = `${count % 10}#`;
        pressed += keys;
        stage.presses(keys);
      });
      expect(replies()).toBeLessThanOrEqual(MOST_GROUPS);
      expect(dtmfTurns().length).toBeLessThanOrEqual(MOST_GROUPS);
      await stage.pass(4_000);
      expect(dtmfDigits()).toBe(pressed);
    });

    it('gets no more replies than the limit when it says short words without a pause', async () => {
      await forAMinute(500, (count) => stage.hears().onEnd(`No, ${count}.`));
      expect(replies()).toBeLessThanOrEqual(MOST_REPLIES);
      stage.hears().onEnd('This is my last word.');
      await stage.pass(3_000);
      expect(stage.requests.at(-1)?.messages.at(-1)).toBe('user: This is my last word.');
      expect(stage.requests.at(-1)?.abandoned).toBe(false);
      expect(stage.ended).toBeUndefined();
      expect(stage.failed).toBeUndefined();
    });

    it('starts no speculative replies when it pauses and continues again and again', async () => {
      await forAMinute(100, async (count) => {
        stage.hears().onInterim(`Well, ${count}`);
        stage.hears().onProbableEnd(`Well, ${count}`);
        await stage.pass(100);
        stage.hears().onTurnContinued();
      });
      expect(replies()).toBeLessThanOrEqual(MOST_REPLIES);
      // The agent still replies at once to a turn that is finished.
      const before = stage.requests.length;
      stage.hears().onEnd('Well then.');
      await stage.pass(100);
      expect(stage.requests).toHaveLength(before + 1);
    });

    it('does not affect an honest conversation with a question every 3 s for five minutes', async () => {
      for (let count = 1; count <= 100; count += 1) {
        const before = stage.requests.length;
        stage.hears().onEnd(`Question ${count}?`);
        await stage.pass(60);
        stage.lastRequest(before + 1).respond('Yes.');
        await stage.pass(2_940);
      }
      expect(stage.said()).toHaveLength(1 + 200);
    });
  });

  describe('in the realtime engine', () => {
    let call: Awaited<ReturnType<typeof placeRealtimeCall>>;

    afterEach(() => call.close());

    const asked = () => call.sent('response.create').length;
    const answersByItself = () =>
      call.sent('session.update').at(-1)?.session?.audio?.input?.turn_detection?.['create_response'];

    it('gets few replies to a pound key pressed ten times a second', async () => {
      call = await placeRealtimeCall();
      await call.greeted();
      const before = asked();
      for (let count = 0; count < 50; count += 1) {
        call.engine.onDtmf('#');
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      expect(asked() - before).toBeLessThanOrEqual(2);
      await eventually(() => call.line.callerTurns().join('').replace(/[^#]/g, '').length === 50, ANSWER_MS);
      expect(call.line.failed).toBeUndefined();
    });

    it('gets replies from the provider directly only while the limit allows, and later when it does again', async () => {
      call = await placeRealtimeCall();
      await call.greeted();
      for (let count = 0; count < 8; count += 1) {
        const id = `unasked_${count}`;
        call.session().send({ type: 'response.created', response: { id } });
        call.session().send({ type: 'response.done', response: { id, status: 'cancelled', output: [] } });
      }
      await eventually(() => answersByItself() === false, 5_000);
      const before = asked();
      for (let count = 0; count < 20; count += 1) {
        const turn = { item_id: `turn_${count}`, audio_start_ms: count * 100, audio_end_ms: count * 100 + 50 };
        call.session().send({ type: 'input_audio_buffer.speech_started', ...turn });
        call.session().send({ type: 'input_audio_buffer.speech_stopped', ...turn });
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(asked()).toBe(before);
      // The caller has used up the limit. The agent replies to the last turn as soon as the limit allows a reply again.
      await eventually(() => asked() === before + 1, 40_000);
      expect(call.line.failed).toBeUndefined();
    }, 90_000);
  });

  describe('in the offline engine', () => {
    const factory = createOfflineEngine();
    beforeAll(() => factory.warm());
    afterAll(() => factory.close());

    const digitsIn = (line: ReturnType<typeof connect>) =>
      line.transcript.flatMap(({ text }) => /^\(keys: (.*)\)$/.exec(text)?.[1]?.split(' ') ?? []);

    async function press(everyMs: number, keys: string) {
      const engine = factory.create();
      const line = connect(engine, { outputTemplate: { code: null, agreed: false } });
      await line.agentTurn();
      const before = line.audioItems();
      const sinceMs = line.now();
      for (const key of keys) {
        engine.onDtmf(key);
        await new Promise((resolve) => setTimeout(resolve, everyMs));
      }
      const tookMs = line.now() - sinceMs;
      return { line, tookMs, replies: () => line.audioItems() - before };
    }

    it('gets no reply to a pound key pressed ten times a second, and all digits are stored', async () => {
      const { line, replies } = await press(100, '#'.repeat(50));
      await until(() => digitsIn(line).length === 50);
      expect(replies()).toBe(0);
      await line.stop();
    }, 60_000);

    it('gets one reply per 1.5 s to digits that each ask for one', async () => {
      const { line, tookMs, replies } = await press(100, '*'.repeat(40));
      expect(replies()).toBeLessThanOrEqual(1 + Math.ceil(tookMs / 1_500));
      await until(() => digitsIn(line).length === 40);
      expect(line.failures).toEqual([]);
      await line.stop();
    }, 60_000);
  });
});
