import { traceView } from '../../src/calls/views/call-views.js';

describe('the tool calls of a trace', () => {
  it('are in the order in which the model made them, although they are stored as they finish', () => {
    const call = { name: 'find', durationMs: 5, ok: true, arguments: '{}', result: '' };
    const toolCalls = [
      { ...call, atMs: 40 },
      { ...call, atMs: 10 },
      { ...call, atMs: 20 },
    ];
    const { tool_calls: shown } = traceView('call_1', { toolCalls });
    expect(shown.map(({ at_ms: atMs }) => atMs)).toEqual([10, 20, 40]);
  });
});
