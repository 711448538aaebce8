import { countCommands, describeCommands, parseCommands } from '../bench/commands/commands.js';
import { figureOf, median, summarize } from '../bench/report/figure.js';
import { percentile } from '../bench/figures.js';
import { selfTimes, timesByPackage } from '../bench/report/profile.js';
import { parseBenchArguments } from '../bench/report/options.js';
import { shortNumber, tableOf } from '../bench/report/table.js';
import { cpuMsOf, residentBytesOf, treeCpuMs } from '../bench/stack/cpu.js';

const command = (operation: string, name: string, collection: string, role = 'api') => ({
  role,
  at: 1,
  operation,
  command: name,
  collection,
});

describe('the figures of the benchmark', () => {
  it('takes percentiles of unsorted samples', () => {
    const samples = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentile(samples, 50)).toBe(51);
    expect(percentile(samples, 99)).toBe(100);
    expect(percentile([7], 99)).toBe(7);
    expect(percentile([], 50)).toBeNaN();
  });

  it('takes the middle value, or the mean of the two middle values', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([10, 9, 1, 5])).toBe(7);
    expect(summarize([9, 1, 5])).toEqual({ median: 5, low: 1, high: 9, rounds: [9, 1, 5] });
    expect(() => summarize([])).toThrow('at least one round');
  });

  it('compares each round with the baseline’s round, not the medians', () => {
    // The machine was twice as slow in the last two rounds, for both sides.
    const { ratio } = figureOf({ name: 'start', unit: 'ms', bare: [10, 20, 20], ours: [20, 40, 40] });
    expect(ratio).toEqual({ median: 2, low: 2, high: 2, rounds: [2, 2, 2] });
  });

  it.each([
    { limit: { of: 'ratio', atMost: 1.5 }, ours: [15], met: true },
    { limit: { of: 'ratio', atMost: 1.5 }, ours: [15.1], met: false },
    { limit: { of: 'ratio', atLeast: 0.7 }, ours: [7], met: true },
    { limit: { of: 'ratio', atLeast: 0.7 }, ours: [6.9], met: false },
    { limit: { of: 'ours', atMost: 22 }, ours: [22], met: true },
    { limit: { of: 'ours', atMost: 22 }, ours: [23], met: false },
  ] as const)('judges $ours against $limit', ({ limit, ours, met }) => {
    expect(figureOf({ name: 'x', unit: '', bare: [10], ours, limit }).met).toBe(met);
  });

  it('does not meet a limit on the ratio without a baseline', () => {
    expect(figureOf({ name: 'x', unit: '', ours: [1], limit: { of: 'ratio', atMost: 2 } }).met).toBe(false);
  });
});

describe('the table of the benchmark', () => {
  it('prints medians, spreads, ratios and limits', () => {
    const figures = [
      figureOf({
        name: 'start',
        unit: 'ms',
        bare: [10, 20, 30],
        ours: [12, 24, 36],
        limit: { of: 'ratio', atMost: 1.25 },
      }),
      figureOf({ name: 'commands', unit: '', ours: [44], limit: { of: 'ours', atMost: 22 } }),
    ];
    expect(tableOf(figures).split('\n')).toEqual([
      '|           | bare       | ours       | ratio | to reach     | met |',
      '| --------- | ---------- | ---------- | ----- | ------------ | --- |',
      '| start, ms | 20 (10–30) | 24 (12–36) | 1.2   | ratio ≤ 1.25 | yes |',
      '| commands  |            | 44         |       | ≤ 22         | no  |',
    ]);
  });

  it.each([
    [4235.4, '4,235'],
    [123.4, '123'],
    [56.78, '56.8'],
    [0.18885, '0.189'],
    [0, '0'],
    [Number.NaN, 'unknown'],
  ])('shortens %p to %p', (value, text) => {
    expect(shortNumber(value)).toBe(text);
  });
});

describe('the count of database commands', () => {
  it('counts by role, operation and name, in order', () => {
    const commands = [
      command('GET /calls', 'find', 'api_keys'),
      command('GET /calls', 'find', 'calls'),
      command('settleCall', 'update', 'calls', 'worker'),
      command('GET /calls', 'find', 'api_keys'),
      command('GET /calls', 'endTransaction', ''),
    ];
    const operations = countCommands(commands, 2);
    expect(operations).toEqual([
      {
        role: 'api',
        operation: 'GET /calls',
        perUnit: 2,
        commands: [
          { name: 'find api_keys', perUnit: 1 },
          { name: 'find calls', perUnit: 0.5 },
          { name: 'endTransaction', perUnit: 0.5 },
        ],
      },
      { role: 'worker', operation: 'settleCall', perUnit: 0.5, commands: [{ name: 'update calls', perUnit: 0.5 }] },
    ]);
    expect(describeCommands(operations)).toEqual([
      'api: GET /calls: 2 (find api_keys, 0.5 × find calls, 0.5 × endTransaction)',
      'worker: settleCall: 0.5 (0.5 × update calls)',
    ]);
  });

  it('ignores a line that is not complete yet', () => {
    const line = JSON.stringify(command('GET /calls', 'find', 'calls'));
    expect(parseCommands(`${line}\n${line.slice(0, 20)}`)).toEqual([command('GET /calls', 'find', 'calls')]);
  });
});

describe('the figures of processes', () => {
  it('reads the CPU time of a process whose name has spaces and parentheses', () => {
    const stat = '4242 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 150 25 13 14 15 16';
    expect(cpuMsOf(stat)).toBe(1_750);
    expect(() => cpuMsOf('4242 (node) S 1')).toThrow('unexpected format');
  });

  it('adds up the CPU time of a process and its descendants', () => {
    const stat = (pid: number, parent: number, ticks: number) =>
      [pid, `${pid} (x) S ${parent} 2 3 4 5 6 7 8 9 10 ${ticks} 0 13`] as const;
    const stats = new Map<number, string>([
      stat(1, 0, 100),
      stat(7, 1, 10),
      stat(8, 7, 2),
      stat(9, 8, 1),
      stat(5, 1, 50),
    ]);
    expect(treeCpuMs(7, stats)).toBe(130);
  });

  it('reads the resident memory of a process', () => {
    expect(residentBytesOf('VmPeak:\t  900 kB\nVmRSS:\t  128 kB\nThreads: 1\n')).toBe(131_072);
    expect(() => residentBytesOf('')).toThrow('unexpected format');
  });
});

describe('the arguments of the benchmark', () => {
  const rows = ['calls', 'get'];
  const known = { rows, scale: ['open-calls', 'load'] };

  it('runs all rows in three rounds by default', () => {
    expect(parseBenchArguments([], known)).toEqual({ rows, rounds: 3, profile: false });
  });

  it('selects rows, rounds and the file', () => {
    const args = ['--only', 'get', '--rounds', '5', '--json', 'a.json', '--profile'];
    expect(parseBenchArguments(args, known)).toEqual({ rows: ['get'], rounds: 5, profile: true, json: 'a.json' });
  });

  it('rejects an unknown row, too few rounds and an unknown option', () => {
    expect(() => parseBenchArguments(['--only', 'set'], known)).toThrow('--only set: unknown row');
    expect(() => parseBenchArguments(['--rounds', '2'], known)).toThrow('--rounds must be a whole number from 3 to 20');
    expect(() => parseBenchArguments(['--quick'], known)).toThrow("Unknown option '--quick'");
  });

  it('runs the stages with many calls only on demand', () => {
    const standard = { rows: known.scale, rounds: 3, profile: false, temporal: 'development' };
    expect(parseBenchArguments(['--scale'], known)).toEqual({ ...standard, scale: { calls: 10_000, minutes: 20 } });
    const args = ['--scale', '--calls', '500', '--minutes', '2', '--only', 'load', '--temporal', 'server'];
    expect(parseBenchArguments(args, known)).toEqual({
      ...standard,
      rows: ['load'],
      temporal: 'server',
      scale: { calls: 500, minutes: 2 },
    });
  });

  it.each([
    [['--calls', '500'], '--calls needs --scale.'],
    [['--temporal', 'server'], '--temporal needs --scale.'],
    [['--scale', '--calls', '99'], '--calls must be a whole number from 100 to 100,000.'],
    [['--scale', '--minutes', '0.5'], '--minutes must be a whole number from 1 to 1,440.'],
    [['--scale', '--temporal', 'cloud'], '--temporal must be development or server.'],
    [['--scale', '--only', 'get'], '--only get: unknown row; the rows are open-calls, load.'],
    [['--scale', '--profile'], '--scale takes no profiles.'],
  ])('rejects %p', (args, message) => {
    expect(() => parseBenchArguments(args, known)).toThrow(message);
  });
});

describe('the profiles of the benchmark', () => {
  const frame = (functionName: string, url: string, lineNumber: number) => ({ functionName, url, lineNumber });
  const profile = {
    nodes: [
      { id: 1, callFrame: frame('(idle)', '', -1) },
      { id: 2, callFrame: frame('place', 'file:///app/dist/src/calls/place.js', 9) },
      { id: 3, callFrame: frame('serialize', 'file:///app/node_modules/a/node_modules/bson/lib/bson.cjs', 0) },
      { id: 4, callFrame: frame('(garbage collector)', '', -1) },
      { id: 5, callFrame: frame('writeBuffer', '', -1) },
      { id: 6, callFrame: frame('parserOnHeaders', 'node:_http_common', 5) },
      // The same function, called from another place.
      { id: 7, callFrame: frame('place', 'file:///app/dist/src/calls/place.js', 9) },
    ],
    samples: [2, 1, 3, 4, 5, 6, 7, 1],
    timeDeltas: [0, 1_000, 50_000, 3_000, 1_000, 1_500, 1_500, 2_000],
  };

  it('adds up the time of each function without idle time', () => {
    const times = selfTimes(profile, '/app');
    expect(times).toEqual([
      { name: 'place dist/src/calls/place.js:10', ms: 3, share: 0.3 },
      { name: 'serialize node_modules/a/node_modules/bson/lib/bson.cjs:1', ms: 3, share: 0.3 },
      { name: 'writeBuffer', ms: 1.5, share: 0.15 },
      { name: 'parserOnHeaders node:_http_common:6', ms: 1.5, share: 0.15 },
      { name: '(garbage collector)', ms: 1, share: 0.1 },
    ]);
  });

  it('adds up the time of each package', () => {
    const named = timesByPackage(selfTimes(profile, '/app')).map(({ name, ms }) => [name, ms]);
    expect(named).toEqual([
      ['src/calls', 3],
      ['bson', 3],
      ['V8 and native code', 1.5],
      ['node', 1.5],
      ['(garbage collector)', 1],
    ]);
  });
});
