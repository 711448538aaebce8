import { eventually } from '../integration/voice/support/media-fixture';
import { ANSWER_MS, placeRealtimeCall } from '../integration/voice/support/realtime-call';
import { lookUp, openStage } from '../support/pipeline-stage';

const ROUNDS_AT_START = 6;
/** The maximum number of tool rounds in the first `ms` of a call: some at the start, and one more every 5 s. */
const roundsIn = (ms: number) => ROUNDS_AT_START + Math.ceil(ms / 5_000);

describe('a model that calls tools without end', () => {
  it('is asked by the pipeline within the limit of rounds of its call, and then to continue without tools', async () => {
    jest.useFakeTimers();
    const stage = await openStage();
    try {
      const withTools = () => stage.requests.filter(({ mayCallTools }) => mayCallTools).length;
      let turns = 0;
      async function turn(): Promise<void> {
        let from = stage.requests.length;
        turns += 1;
        await stage.says('When is it?');
        while (stage.requests.length > from) {
          from = stage.requests.length;
          const asked = stage.lastRequest(from);
          const { mayCallTools } = asked;
          asked.respond(mayCallTools ? '' : 'Soon.', ...(mayCallTools ? [lookUp(`call_${from}`)] : []));
          await stage.pass(40);
          stage.tools.at(-1)?.finish({ ok: true, result: 'nothing' });
          await stage.pass(40);
        }
        await stage.pass(500);
      }
      while (turns < 10) await turn();
      // The model may call tools in the greeting too.
      expect(withTools()).toBeGreaterThanOrEqual(1 + ROUNDS_AT_START);
      expect(withTools()).toBeLessThanOrEqual(1 + roundsIn(stage.now()));
      expect(stage.requests.length).toBeLessThan(1 + roundsIn(stage.now()) + turns + 1);
      expect(stage.said().at(-1)).toBe('agent: Soon.');
      const before = withTools();
      while (stage.now() < 60_000) await turn();
      await turn();
      expect(withTools()).toBeGreaterThan(before + 5);
      expect(withTools()).toBeLessThanOrEqual(1 + roundsIn(stage.now()));
    } finally {
      await stage.close();
      jest.useRealTimers();
    }
  });

  it('is asked by the realtime engine once to continue without tools, and not again until the caller speaks', async () => {
    const sinceMs = performance.now();
    const call = await placeRealtimeCall({ nasty: { speed: 100 } });
    try {
      await call.greeted();
      const asked = () => call.sent('response.create');
      call.fake.nasty.everCalls = { name: 'look_up', arguments: {} };
      call.line.say(await call.speech('Look it up.'));
      const withoutTools = () => asked().filter(({ response }) => response?.tool_choice === 'none');
      await eventually(() => withoutTools().length > 0, ANSWER_MS);
      expect(call.line.tools.length).toBeGreaterThanOrEqual(ROUNDS_AT_START);
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect(call.line.tools.length).toBeLessThanOrEqual(roundsIn(performance.now() - sinceMs));
      expect(withoutTools()).toHaveLength(1);
      expect(asked().at(-1)?.response?.tool_choice).toBe('none');
      expect(call.line.failed).toBeUndefined();
    } finally {
      await call.close();
    }
  });
});
