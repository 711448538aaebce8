import { takeoverOf } from '../../src/voice/engines/chain/takeover.js';
import type { EngineCall, TranscriptTurn } from '../../src/voice/engines/port.js';

const TURNS: readonly TranscriptTurn[] = [
  { speaker: 'agent', text: 'Hello, this is the clinic.', startMs: 0, endMs: 1_500 },
  { speaker: 'caller', text: 'Good morning.', startMs: 2_000, endMs: 3_000 },
];
const FILLER: TranscriptTurn = { speaker: 'agent', text: 'One moment (interrupted)', startMs: 4_000, endMs: 4_500 };
const REPLY: TranscriptTurn = { speaker: 'agent', text: 'Is ten fine?', startMs: 4_000, endMs: 4_500 };
const PERSON = { personTurns: 1, answers: 1, agentHeard: false };

function setup(turns: readonly TranscriptTurn[], more: Partial<NonNullable<EngineCall['takesOver']>> = {}) {
  const takesOver = { atMs: 5_000, unanswered: [], ...more };
  return takeoverOf({ takesOver, resume: { turns, values: {}, unnoticed: true } });
}

describe('a session that continues the call of another engine', () => {
  it('answers what the caller said last, also after a filler', () => {
    expect(setup(TURNS).takesOver).toBe('question');
    expect(setup([...TURNS, FILLER]).takesOver).toBe('question');
    expect(setup([...TURNS, REPLY]).takesOver).toBe('rest');
  });

  it('knows that a person answered, unless the first engine took the person for a machine or knew nothing', () => {
    expect(setup(TURNS, { answeredBy: 'human' }).person).toEqual(PERSON);
    expect(setup(TURNS, { answeredBy: 'voicemail' })).not.toHaveProperty('person');
    expect(setup(TURNS)).not.toHaveProperty('person');
  });

  it('says that the line is back if the caller noticed that it broke', () => {
    const takesOver = { atMs: 5_000, unanswered: [] };
    expect(takeoverOf({ takesOver, resume: { turns: [...TURNS, REPLY], values: {} } })).toEqual({});
  });

  it('learns nothing if the engine began the call', () => {
    expect(takeoverOf({})).toEqual({});
    expect(takeoverOf({ takesOver: { atMs: 0, unanswered: [] } })).toEqual({ takesOver: 'rest' });
  });
});
