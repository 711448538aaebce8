import { createOfflineEngine } from '../../src/voice/engines/offline/index.js';
import { connect, until } from '../support/engine-line';
import { eventually } from '../integration/voice/support/media-fixture';
import { ANSWER_MS, placeRealtimeCall } from '../integration/voice/support/realtime-call';
import { openStage, type Stage } from '../support/pipeline-stage';

const MINUTE_MS = 60_000;
/** What a minute may cost: 30 replies at once, and one more every 2.5 s. */
const MOST_REPLIES = 30 + 24;
/** No two groups of keys within 1.5 s. */
const MOST_GROUPS = 41;

describe('a far end that has the operator pay for replies without end', () => {
  describe('in the pipeline', () => {
    let stage: Stage;
    let asked: number;

    beforeEach(async () => {
      jest.useFakeTimers();
      stage = await openStage({ decidesTurns: true });
      asked = stage.asked.length;
    });

    afterEach(async () => {
      await stage.close();
      jest.useRealTimers();
    });

    const replies = () => stage.asked.length - asked;
    const keysTold = () => stage.said().filter((line) => line.startsWith('caller: (keys: '));
    const keysKept = () =>
      keysTold()
        .join('')
        .replace(/[^\d#*]/g, '');

    async function forAMinute(everyMs: number, act: (count: number) => void | Promise<void>): Promise<void> {
      const until = stage.now() + MINUTE_MS;
      for (let count = 1; stage.now() < until; count += 1) {
        await act(count);
        await stage.pass(everyMs);
      }
    }

    it('gets few answers to a pound key that is pressed ten times a second', async () => {
      await forAMinute(100, () => stage.presses('#'));
      expect(replies()).toBeLessThan(12);
      expect(keysTold().length).toBeLessThan(12);
      await stage.pass(4_000);
      expect(keysKept()).toHaveLength(600);
    });

    it('gets one answer in 1.5 s to numbers that are keyed in as fast as can be, and no digit is lost', async () => {
      let pressed = '';
      await forAMinute(200, (count) => {
        const keys = `${count % 10}#`;
        pressed += keys;
        stage.presses(keys);
      });
      expect(replies()).toBeLessThanOrEqual(MOST_GROUPS);
      expect(keysTold().length).toBeLessThanOrEqual(MOST_GROUPS);
      await stage.pass(4_000);
      expect(keysKept()).toBe(pressed);
    });

    it('is answered no more often than a talk goes on when it never stops saying short words', async () => {
      await forAMinute(500, (count) => stage.hears().onEnd(`No, ${count}.`));
      expect(replies()).toBeLessThanOrEqual(MOST_REPLIES);
      stage.hears().onEnd('This is my last word.');
      await stage.pass(3_000);
      expect(stage.asked.at(-1)?.talk.at(-1)).toBe('user: This is my last word.');
      expect(stage.asked.at(-1)?.abandoned).toBe(false);
      expect(stage.ended).toBeUndefined();
      expect(stage.failed).toBeUndefined();
    });

    it('has no answers begun on suspicion when it stops and goes on again and again', async () => {
      await forAMinute(100, async (count) => {
        stage.hears().onWords(`Well, ${count}`);
        stage.hears().onMayEnd(`Well, ${count}`);
        await stage.pass(100);
        stage.hears().onGoesOn();
      });
      expect(replies()).toBeLessThanOrEqual(MOST_REPLIES);
      // Whoever has finished is answered at once all the same.
      const before = stage.asked.length;
      stage.hears().onEnd('Well then.');
      await stage.pass(100);
      expect(stage.asked).toHaveLength(before + 1);
    });

    it('leaves an honest talk at full speed alone: a question every 3 s for five minutes', async () => {
      for (let count = 1; count <= 100; count += 1) {
        const before = stage.asked.length;
        stage.hears().onEnd(`Question ${count}?`);
        await stage.pass(60);
        stage.lastAsked(before + 1).answers('Yes.');
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

    it('gets few answers to a pound key that is pressed ten times a second', async () => {
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

    it('is answered by the provider itself only as long as a talk has replies left, then when there is room', async () => {
      call = await placeRealtimeCall();
      await call.greeted();
      for (let count = 0; count < 32; count += 1) {
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
      // More than what was left is owed: the last words are answered when it has been earned.
      await eventually(() => asked() === before + 1, 40_000);
      expect(call.line.failed).toBeUndefined();
    }, 90_000);
  });

  describe('in the offline engine', () => {
    const factory = createOfflineEngine();
    beforeAll(() => factory.warm());
    afterAll(() => factory.close());

    const keysIn = (line: ReturnType<typeof connect>) =>
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

    it('gets no answer to a pound key that is pressed ten times a second, and all of them are kept', async () => {
      const { line, replies } = await press(100, '#'.repeat(50));
      await until(() => keysIn(line).length === 50);
      expect(replies()).toBe(0);
      await line.stop();
    }, 60_000);

    it('gets one answer in 1.5 s to keys that each want one', async () => {
      const { line, tookMs, replies } = await press(100, '*'.repeat(40));
      expect(replies()).toBeLessThanOrEqual(1 + Math.ceil(tookMs / 1_500));
      await until(() => keysIn(line).length === 40);
      expect(line.failures).toEqual([]);
      await line.stop();
    }, 60_000);
  });
});
