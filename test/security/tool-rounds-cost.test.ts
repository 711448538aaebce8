import { eventually } from '../integration/voice/support/media-fixture';
import { ANSWER_MS, placeRealtimeCall } from '../integration/voice/support/realtime-call';
import { lookUp, openStage } from '../support/pipeline-stage';

const ROUNDS_AT_START = 20;

describe('a model that calls tools without end', () => {
  it('has the pipeline ask it for no more than the rounds of its call, and then to go on without tools', async () => {
    jest.useFakeTimers();
    const stage = await openStage();
    try {
      const withTools = () => stage.asked.filter(({ mayCallTools }) => mayCallTools).length;
      let turns = 0;
      async function turn(): Promise<void> {
        let from = stage.asked.length;
        turns += 1;
        await stage.says('When is it?');
        while (stage.asked.length > from) {
          from = stage.asked.length;
          const asked = stage.lastAsked(from);
          const { mayCallTools } = asked;
          asked.answers(mayCallTools ? '' : 'Soon.', ...(mayCallTools ? [lookUp(`call_${from}`)] : []));
          await stage.pass(40);
          stage.tools.at(-1)?.finish({ ok: true, result: 'nothing' });
          await stage.pass(40);
        }
        await stage.pass(500);
      }
      while (turns < 10) await turn();
      // The greeting may call tools as well.
      expect(withTools()).toBe(1 + ROUNDS_AT_START);
      expect(stage.asked.length).toBeLessThan(1 + ROUNDS_AT_START + turns + 1);
      expect(stage.said().at(-1)).toBe('agent: Soon.');
      // Each minute gives some more.
      while (stage.now() < 60_000) await turn();
      await turn();
      expect(withTools()).toBeGreaterThan(1 + ROUNDS_AT_START);
    } finally {
      await stage.close();
      jest.useRealTimers();
    }
  });

  it('has the realtime engine ask it once to go on without tools, and no more until the caller speaks', async () => {
    const call = await placeRealtimeCall({ nasty: { speed: 100 } });
    try {
      await call.greeted();
      const asked = () => call.sent('response.create');
      call.fake.nasty.everCalls = { name: 'look_up', arguments: {} };
      call.line.say(await call.speech('Look it up.'));
      await eventually(() => call.line.tools.length >= ROUNDS_AT_START, ANSWER_MS);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect(call.line.tools).toHaveLength(ROUNDS_AT_START);
      expect(asked().filter(({ response }) => response?.tool_choice === 'none')).toHaveLength(1);
      expect(asked().at(-1)?.response?.tool_choice).toBe('none');
      expect(call.line.failed).toBeUndefined();
    } finally {
      await call.close();
    }
  });
});
