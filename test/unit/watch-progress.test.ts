import { advanceWatch, beginWatch } from '../../src/calls/views/watch-progress.js';

const START = 1_000_000;
const look = (view: string, isFinal = false) => ({ view, isFinal });

describe('a watched call', () => {
  it('is written at first sight and at each change', () => {
    const [first, text] = advanceWatch(beginWatch(START), look('{"a":1}'), START);
    expect(text).toBe('event: call\ndata: {"a":1}\n\n');
    const [second, nothing] = advanceWatch(first, look('{"a":1}'), START + 500);
    expect([second, nothing]).toEqual([first, undefined]);
    expect(advanceWatch(second, look('{"a":2}'), START + 1_000)[1]).toBe('event: call\ndata: {"a":2}\n\n');
  });

  it('that does not change gets a comment once in a while', () => {
    const [watch] = advanceWatch(beginWatch(START), look('{}'), START);
    expect(advanceWatch(watch, look('{}'), START + 15_000)[1]).toBeUndefined();
    const [commented, text] = advanceWatch(watch, look('{}'), START + 15_001);
    expect(text).toBe(': still here\n\n');
    expect(advanceWatch(commented, look('{}'), START + 15_501)[1]).toBeUndefined();
  });

  it('is watched for five minutes, and shortly after its end', () => {
    const watch = beginWatch(START);
    expect(watch.endAt).toBe(START + 300_000);
    const [going] = advanceWatch(watch, look('{}'), START + 500);
    expect(going.endAt).toBe(START + 300_000);
    const [final] = advanceWatch(going, look('{}', true), START + 1_000);
    expect(final.endAt).toBe(START + 4_000);
    expect(advanceWatch(final, look('{}', true), START + 1_500)[0].endAt).toBe(START + 4_000);
  });
});
