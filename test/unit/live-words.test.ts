import { latestView } from '../../src/calls/views/call-views.js';
import { createInterimWords } from '../../src/voice/live-words/interim-words.js';
import type { InterimWords } from '../../src/voice/live-words/model.js';
import { GREETING, openStage } from '../support/pipeline-stage';

/** Interim words of a call whose writes are collected; `slowMs`: how long each write takes. */
function openWords(slowMs = 0) {
  const writes: (readonly InterimWords[])[] = [];
  let removals = 0;
  const turns = { agent: -1, caller: -1 };
  const words = createInterimWords({
    callId: 'call_1',
    liveWords: {
      async write(_callId, written) {
        writes.push(written);
        await new Promise((resolve) => setTimeout(resolve, slowMs));
      },
      async remove() {
        removals += 1;
      },
    },
    lastTurnMs: (speaker) => turns[speaker],
    logger: { debug: () => undefined } as never,
  });
  return { words, writes, turns, removals: () => removals };
}

describe('interim words', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('are neither read nor written for a call without watchers', async () => {
    const { words, writes } = openWords();
    const read = jest.fn(() => 'Hello');
    for (let count = 0; count < 50; count++) words.show('agent', read);
    await jest.advanceTimersByTimeAsync(10_000);
    expect([read.mock.calls.length, writes.length]).toEqual([0, 0]);
    words.setWatched(true);
    await jest.advanceTimersByTimeAsync(10);
    expect(writes).toEqual([[{ speaker: 'agent', text: 'Hello', afterMs: -1 }]]);
    words.close();
  });

  it('are written at most every 300 ms, the latest ones of both speakers', async () => {
    const { words, writes } = openWords();
    words.setWatched(true);
    for (let count = 0; count < 200; count++) {
      words.show('caller', () => `caller ${count}`);
      words.show('agent', () => `agent ${count}`);
      await jest.advanceTimersByTimeAsync(10);
    }
    expect(writes.length).toBeGreaterThan(5);
    expect(writes.length).toBeLessThanOrEqual(8);
    await jest.advanceTimersByTimeAsync(300);
    expect(writes.at(-1)?.map(({ text }) => text)).toEqual(['caller 199', 'agent 199']);
    const before = writes.length;
    words.show('agent', () => 'agent 199');
    await jest.advanceTimersByTimeAsync(1_000);
    expect(writes).toHaveLength(before);
    words.close();
  });

  it('wait for a slow database, and are not asked to be written twice at once', async () => {
    const { words, writes } = openWords(5_000);
    words.setWatched(true);
    for (let count = 0; count < 100; count++) {
      words.show('agent', () => `agent ${count}`);
      await jest.advanceTimersByTimeAsync(100);
    }
    expect(writes.length).toBeLessThanOrEqual(2);
    words.close();
  });

  it('are dropped when their turn is stored, and bounded in length', async () => {
    const { words, writes, turns } = openWords();
    words.setWatched(true);
    words.show('caller', () => 'Yes');
    words.onTurn('caller');
    turns.caller = 4_000;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(writes).toEqual([]);
    words.show('caller', () => 'x'.repeat(5_000));
    await jest.advanceTimersByTimeAsync(1_000);
    expect(writes).toEqual([[{ speaker: 'caller', text: 'x'.repeat(1_000), afterMs: 4_000 }]]);
    words.close();
  });

  it('are deleted at the end of a watched call, and not written any more', async () => {
    const { words, writes, removals } = openWords();
    words.setWatched(true);
    words.show('caller', () => 'Yes');
    words.end();
    words.show('caller', () => 'Yes, please');
    await jest.advanceTimersByTimeAsync(1_000);
    expect([writes.length, removals()]).toEqual([0, 1]);
  });
});

describe('the conversation of a watched call', () => {
  const turns = [
    { speaker: 'caller' as const, text: 'When?', startMs: 1_000, endMs: 2_000 },
    { speaker: 'agent' as const, text: 'At ten.', startMs: 2_600, endMs: 3_500 },
  ];

  it('has interim words until a turn of the speaker contains them', () => {
    const caller = { speaker: 'caller' as const, text: 'Wh', afterMs: -1 };
    const agent = { speaker: 'agent' as const, text: 'Good', afterMs: 2_600 };
    expect(latestView({ turns: [] }, [caller], 20).interim).toEqual([{ speaker: 'caller', text: 'Wh' }]);
    expect(latestView({ turns }, [caller, agent], 20).interim).toEqual([{ speaker: 'agent', text: 'Good' }]);
  });

  it('tells how long responses took, also that to a turn before the first one shown', () => {
    const { turns: shown } = latestView({ turns }, [], 1);
    expect(shown).toEqual([{ speaker: 'agent', text: 'At ten.', start_ms: 2_600, end_ms: 3_500, latency_ms: 600 }]);
  });
});

describe('a call of the pipeline engine', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('shows the words of the caller as they are recognized, and those of the agent as they are played', async () => {
    const stage = await openStage();
    const agent = stage.interim.flatMap(({ speaker, text }) => (speaker === 'agent' && text !== '' ? [text] : []));
    expect(agent.length).toBeGreaterThan(2);
    for (const [index, text] of agent.entries())
      expect(GREETING.startsWith(text) && text >= (agent[index - 1] ?? '')).toBe(true);
    stage.hears().onInterim('When');
    stage.hears().onInterim('When is it?');
    const caller = stage.interim.filter(({ speaker }) => speaker === 'caller');
    expect(caller.map(({ text }) => text)).toEqual(['When', 'When is it?']);
    await stage.close();
  });
});
