import { transcriptView } from '../../src/calls/views/call-views.js';
import { createUnprintedTurns } from '../../src/cli/customer/tail-call.js';
import { joinTurns } from '../../src/portal/app/components/call/join-turns.js';
import type { StoredTurn } from '../../src/voice/results/model.js';

const GREETING: StoredTurn = { speaker: 'agent', text: 'Hello.', startMs: 0, endMs: 600 };
/** Sound that began with the greeting and was understood when the turn after it had been stored. */
const SOUND: StoredTurn = { speaker: 'caller', text: '(speech)', startMs: 0, endMs: 31_000 };
const TYPED: StoredTurn = { speaker: 'caller', text: 'Monday', startMs: 9_000, endMs: 9_000 };

const viewOf = (...turns: StoredTurn[]) => transcriptView('call_1', { turns }).turns;
const textsOf = (turns: readonly { text: string }[]) => turns.map(({ text }) => text);

describe('the turns of a call', () => {
  it('are in the order of their starts, whatever the order in which they were stored', () => {
    const expected = ['Hello.', '(speech)', 'Monday'];
    expect(textsOf(viewOf(GREETING, TYPED, SOUND))).toEqual(expected);
    expect(textsOf(viewOf(SOUND, GREETING, TYPED))).toEqual(expected);
    expect(transcriptView('call_1', { turns: [TYPED, GREETING] }).text).toBe('agent: Hello.\ncaller: Monday');
  });

  it('are each printed once, also one that comes late', () => {
    const unprinted = createUnprintedTurns();
    expect(textsOf(unprinted(viewOf(GREETING, TYPED)))).toEqual(['Hello.', 'Monday']);
    expect(textsOf(unprinted(viewOf(GREETING, TYPED, SOUND)))).toEqual(['(speech)']);
    expect(unprinted(viewOf(GREETING, TYPED, SOUND))).toEqual([]);
  });

  it('are sorted when one comes late, without loss of earlier ones', () => {
    const later = Array.from({ length: 3 }, (_, i) => ({
      ...TYPED,
      text: `${i}`,
      startMs: 10_000 + i,
      endMs: 10_000 + i,
    }));
    const earlier = viewOf(GREETING, TYPED, ...later);
    const latest = [...viewOf(...later.slice(1)), ...viewOf(SOUND)];
    expect(textsOf(joinTurns(earlier, latest))).toEqual(['Hello.', '(speech)', 'Monday', '0', '1', '2']);
  });

  it('keep an earlier turn that began with the first of the latest ones', () => {
    const [greeting, sound, typed] = viewOf(GREETING, SOUND, TYPED);
    expect(textsOf(joinTurns([greeting!, sound!], [sound!, typed!]))).toEqual(['Hello.', '(speech)', 'Monday']);
  });
});
