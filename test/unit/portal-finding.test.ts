import type { Agent } from '../../src/agents/schemas.js';
import { agentsFound, CALL_ID, hasWords } from '../../src/portal/app/shell/commands/palette-search';
import { everyDay } from '../../src/portal/app/components/usage/usage-shape';

describe('a search of the command palette', () => {
  it.each([
    ['', 'Calls', true],
    ['phone', 'Phone numbers', true],
    ['NUM pho', 'Phone numbers', true],
    ['umbers', 'Phone numbers', false],
    ['wurtt', 'Praxis Württemberg', true],
    ['würtemb', 'Praxis Württemberg', false],
    ['doctor-hild', 'Doctor Hildegard', true],
    ['…', 'Calls', true],
  ])('“%s” in “%s”: %s', (search, name, isFound) => {
    expect(hasWords(name, search)).toBe(isFound);
  });

  it('finds agents by name or identifier, those whose name begins with it first, and a few only', () => {
    const named = (name: string, index: number) => ({ name, agent_id: `agent_${index}` }) as Agent;
    const agents = ['The reminders', 'Reminders', ...Array.from({ length: 20 }, () => 'More reminders')].map(named);
    const found = agentsFound(agents, ' remind');
    expect([found.length, found[0]?.name]).toEqual([6, 'Reminders']);
    expect(agentsFound(agents, 'agent_1').map(({ name }) => name)).toEqual(['Reminders']);
  });

  it('knows identifiers of calls', () => {
    expect(
      ['call_01M85E9PBRT0C5P1VRZW24700N', 'call_1', 'agent_01M85E9PBRT0C5P1VRZW24700N'].map((id) => CALL_ID.test(id)),
    ).toEqual([true, false, false]);
  });
});

describe('the days of a usage chart', () => {
  const row = (key: string) => ({ key, name: key, calls: 1, seconds: 60, cost: 0.1 });

  it('have no gaps', () => {
    const days = everyDay([row('2026-02-27'), row('2026-03-02')]);
    expect(days.map(({ key, calls }) => [key, calls])).toEqual([
      ['2026-02-27', 1],
      ['2026-02-28', 0],
      ['2026-03-01', 0],
      ['2026-03-02', 1],
    ]);
  });

  it('stay as they are if they are too many, or none', () => {
    expect(everyDay([])).toEqual([]);
    expect(everyDay([row('1970-01-01'), row('2026-03-02')])).toHaveLength(2);
  });
});
