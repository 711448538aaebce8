import { lookUp, openStage, type Stage } from '../support/pipeline-stage.js';

const FOUND = { ok: true, result: 'ten' } as const;
const LEFT_OUT = 'tool: {"error":"too many tool results in one reply; continue without this one"}';
const many = (count: number) => Array.from({ length: count }, (_, index) => lookUp(`call_${index}`));

describe('many tool calls in one reply of the pipeline', () => {
  let stage: Stage;
  beforeEach(async () => {
    jest.useFakeTimers();
    stage = await openStage();
    await stage.says('When is it?');
  });
  afterEach(async () => {
    await stage.close();
    jest.useRealTimers();
  });

  /** Finishes the tool calls that run, and those that begin then. */
  async function finishTools(): Promise<void> {
    for (let index = 0; index < stage.tools.length; index++) {
      stage.tools[index]?.finish(FOUND);
      await stage.pass(20);
    }
  }

  it('have an answer each, in order, and 16 of them run, one after the other', async () => {
    stage.lastRequest(2).respond('', ...many(20));
    await stage.pass(40);
    expect(stage.tools).toHaveLength(1);
    await finishTools();
    expect(stage.tools).toHaveLength(16);
    const answers = stage.lastRequest(3).messages.filter((message) => message.startsWith('tool: '));
    expect(answers).toEqual([...Array<string>(16).fill('tool: "ten"'), ...Array<string>(4).fill(LEFT_OUT)]);
    stage.lastRequest(3).respond('At ten.');
    await stage.pass(1_000);
    expect(stage.said().at(-1)).toBe('agent: At ten.');
  });

  it('still end the phone call, once', async () => {
    const endCall = { id: 'end', name: 'end_call', arguments: '{}' };
    stage.lastRequest(2).respond('', ...many(20), endCall, endCall);
    await stage.pass(40);
    await finishTools();
    expect(stage.tools.map(({ call }) => call.name)).toEqual([...Array<string>(16).fill('look_up'), 'end_call']);
    expect(stage.requests).toHaveLength(2);
  });

  it('do not run any more when the caller speaks, and the next reply does not wait for them', async () => {
    stage.lastRequest(2).respond('', ...many(20));
    await stage.pass(40);
    stage.tools[0]?.finish(FOUND);
    await stage.pass(20);
    expect(stage.tools).toHaveLength(2);
    await stage.says('Never mind.');
    stage.tools[1]?.finish(FOUND);
    await stage.pass(100);
    expect(stage.tools).toHaveLength(2);
    stage.lastRequest(3).respond('All right.');
    await stage.pass(1_000);
    expect(stage.said().at(-1)).toBe('agent: All right.');
  });
});
