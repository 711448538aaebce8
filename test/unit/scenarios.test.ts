import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadScenarios } from '../../src/telephony/simulator/scenario.js';

const scripted =
  '00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 20 21 22 23 24 25 26 30 31 32 33 34 35 36 40 41 42 43 44 45 50 51'.split(
    ' ',
  );

describe('the scenarios of the simulated carrier', () => {
  const scenarios = loadScenarios();

  it('exist for every number of the table', () => {
    const names = scripted.map((digits) => scenarios.findByNumber(`+120255501${digits}`).name);
    expect(new Set(names).size).toBe(scripted.length);
    expect(scripted.map((digits) => scenarios.find(digits)?.name)).toEqual(names);
  });

  it.each(['+12025550199', '+14155550101', '+120255501011', 'client:joe'])('are 00 for the number %s', (number) => {
    expect(scenarios.findByNumber(number)).toBe(scenarios.find('conversation'));
  });

  describe('in a separate folder', () => {
    const folder = mkdtempSync(join(tmpdir(), 'scenarios-'));
    const standard = { name: 'standard', description: '', ring: { outcome: 'answer' } };
    const write = (file: string, content: object) => writeFileSync(join(folder, file), JSON.stringify(content));
    beforeAll(() => write('00.json', standard));
    afterAll(() => rmSync(folder, { recursive: true }));

    it('can be added without code', () => {
      write('77.json', { name: 'engaged', description: '', ring: { outcome: 'busy', sip: 600 } });
      expect(loadScenarios(folder).findByNumber('+12025550177')).toMatchObject({ name: 'engaged', ring: { sip: 600 } });
    });

    it('are rejected by file name if they are invalid', () => {
      write('78.json', { ...standard, ring: { outcome: 'answer', secnods: 1 } });
      expect(() => loadScenarios(folder)).toThrow(/78\.json is not a valid scenario.*secnods/s);
    });
  });
});
