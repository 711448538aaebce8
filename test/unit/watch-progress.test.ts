import { advanceWatch, beginWatch } from '../../src/calls/views/watch-progress.js';

const START = 1_000_000;
const look = (view: string, isFinal = false) => ({ view, isFinal });

describe('the event stream of a watched call', () => {
  it('has an event at the start and at each change', () => {
    const [first, text] = advanceWatch(beginWatch(START), look('{"a":1}'), START);
    expect(text).toBe('event: call\ndata: {"a":1}\n\n');
    const [second, nothing] = advanceWatch(first, look('{"a":1}'), START + 500);
    expect([second, nothing]).toEqual([first, undefined]);
    expect(advanceWatch(second, look('{"a":2}'), START + 1_000)[1]).toBe('event: call\ndata: {"a":2}\n\n');
  });

  it('has an event when the conversation has changed', () => {
    const talk = (conversation: string) => ({ ...look('{"a":1}'), conversation });
    const [first, both] = advanceWatch(beginWatch(START), talk('{"turns":[1]}'), START);
    expect(both).toBe('event: call\ndata: {"a":1}\n\nevent: conversation\ndata: {"turns":[1]}\n\n');
    const [second, nothing] = advanceWatch(first, talk('{"turns":[1]}'), START + 500);
    expect(nothing).toBeUndefined();
    const [, text] = advanceWatch(second, talk('{"turns":[1,2]}'), START + 1_000);
    expect(text).toBe('event: conversation\ndata: {"turns":[1,2]}\n\n');
    expect(advanceWatch(second, look('{"a":1}'), START + 1_000)[1]).toBeUndefined();
  });

  it('has a comment every 15 s if the call does not change', () => {
    const [watch] = advanceWatch(beginWatch(START), look('{}'), START);
    expect(advanceWatch(watch, look('{}'), START + 15_000)[1]).toBeUndefined();
    const [commented, text] = advanceWatch(watch, look('{}'), START + 15_001);
    expect(text).toBe(': keep-alive\n\n');
    expect(advanceWatch(commented, look('{}'), START + 15_501)[1]).toBeUndefined();
  });

  it('ends after five minutes, or shortly after the end of the call', () => {
    const watch = beginWatch(START);
    expect(watch.endAt).toBe(START + 300_000);
    const [going] = advanceWatch(watch, look('{}'), START + 500);
    expect(going.endAt).toBe(START + 300_000);
    const [final] = advanceWatch(going, look('{}', true), START + 1_000);
    expect(final.endAt).toBe(START + 4_000);
    expect(advanceWatch(final, look('{}', true), START + 1_500)[0].endAt).toBe(START + 4_000);
  });
});
