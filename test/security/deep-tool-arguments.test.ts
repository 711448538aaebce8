import { openStage, lookUp } from '../support/pipeline-stage.js';
import { createTraceLog } from '../../src/voice/results/trace-log.js';
import { parseShallowJson, parseToolArguments } from '../../src/voice/tools/shallow-json.js';

/** Deep enough to overflow the stack of `JSON.stringify`, in only 10 kB. */
const LEVELS = 5_000;
const nested = (levels: number) => `{"x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

describe('arguments of a tool that a model has nested deeply', () => {
  it('overflow the stack of whatever walks through them', () => {
    expect(() => JSON.stringify(JSON.parse(nested(LEVELS)))).toThrow(RangeError);
  });

  it('are not accepted, and those of 32 levels are', () => {
    expect(parseToolArguments(nested(LEVELS))).toBeNull();
    expect(parseToolArguments(nested(33))).toBeNull();
    expect(parseToolArguments(nested(32))).toEqual(JSON.parse(nested(32)));
    expect(parseToolArguments('{"x":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}')).not.toBeNull();
    expect(() => parseShallowJson(nested(LEVELS))).toThrow(SyntaxError);
  });

  it('reach no tool of the pipeline, and the conversation continues', async () => {
    jest.useFakeTimers();
    const stage = await openStage();
    try {
      await stage.says('Look it up.');
      stage.lastRequest(2).respond('', { ...lookUp('call_1'), arguments: nested(LEVELS) });
      await stage.pass(100);
      expect(stage.tools).toEqual([]);
      stage.lastRequest(3).respond('I could not look it up.');
      await stage.pass(2_000);
      expect(stage.said().at(-1)).toBe('agent: I could not look it up.');
      expect(stage.failed).toBeUndefined();
    } finally {
      await stage.close();
      jest.useRealTimers();
    }
  });

  it('do not keep a call from being traced', () => {
    const trace = createTraceLog(0);
    const call = { name: 'look_up', arguments: JSON.parse(nested(LEVELS)) as Record<string, unknown> };
    trace.addToolCall({ call, result: { ok: true, result: call.arguments }, atMs: 1, durationMs: 1 });
    expect(trace.following(null).toolCalls).toMatchObject([{ name: 'look_up', arguments: '…', result: '…' }]);
  });
});

it('a tool that fails unexpectedly ends its own call, and not the process with all calls', async () => {
  jest.useFakeTimers();
  const unhandled = jest.fn();
  process.on('unhandledRejection', unhandled);
  const stage = await openStage();
  try {
    await stage.says('Look it up.');
    stage.lastRequest(2).respond('', lookUp('call_1'));
    await stage.pass(100);
    stage.tools[0]?.fail(new RangeError('Maximum call stack size exceeded'));
    await stage.pass(100);
    expect(stage.failed?.message).toBe('Maximum call stack size exceeded');
    expect(unhandled).not.toHaveBeenCalled();
  } finally {
    process.off('unhandledRejection', unhandled);
    await stage.close();
    jest.useRealTimers();
  }
});
