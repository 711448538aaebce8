import { shortNumber } from '../report/table.js';
import { ASSUMED, CONCURRENT_CALLS } from './assumptions.js';
import type { ScalingFigures } from './figures.js';
import { checksOf, costsOf, furtherHolds, needsOf, type Assumptions, type Needs, type RoleNeed } from './model.js';

const PART_NAMES = { api: '`api`', worker: '`worker`', mongodb: 'MongoDB', temporal: 'Temporal' } as const;

/** The generated parts of docs/scaling.md, by the names of their markers. */
export function scalingTables(figures: ScalingFigures): Record<string, string> {
  return {
    measured: measuredTable(figures),
    costs: costTable(figures),
    needs: needsTable(CONCURRENT_CALLS.map((calls) => needsOf(calls, figures, ASSUMED))),
    assumptions: assumptionTable(ASSUMED),
    checks: checkTable(figures),
  };
}

function measuredTable({ measured, call, hold, workerMemory, media }: ScalingFigures): string {
  const [first, last] = [workerMemory[0], workerMemory.at(-1)];
  if (first === undefined || last === undefined) throw new Error('two measurements are needed');
  const perCall = ((last.megabytes - first.megabytes) / (last.openCalls - first.openCalls)) * 1_024;
  return table(
    ['measured', 'value'],
    [
      ['when and where', `${measured.on}, ${measured.machine}`],
      ['with', measured.servers],
      ['an answered call: commands to MongoDB', shortNumber(call.commands)],
      ['an answered call: history', `${shortNumber(call.events)} events, ${shortNumber(call.historyBytes)} bytes`],
      ['an answered call: state transitions of Temporal', shortNumber(call.transitions)],
      [
        'an answered call without a conversation: stored in MongoDB, without indexes',
        call.storedBytes === 0
          ? 'not measured yet'
          : `${shortNumber(call.storedDocuments)} documents, ${shortNumber(call.storedBytes)} bytes`,
      ],
      [
        'each further hold',
        `${shortNumber(hold.commands)} commands, ${shortNumber(hold.events)} events, ${shortNumber(hold.transitions)} transitions`,
      ],
      [
        'memory of a worker',
        `${shortNumber(first.megabytes)} MB with ${shortNumber(first.openCalls)} open calls, ${shortNumber(last.megabytes)} MB with ${shortNumber(last.openCalls)}: ${shortNumber(perCall)} kB each`,
      ],
      [
        'a media process with recorded calls',
        `${shortNumber(media.calls)} calls use ${shortNumber(media.cores)} of a core and ${shortNumber(media.kilobytesPerCall)} kB each`,
      ],
    ],
  );
}

function costTable(figures: ScalingFigures): string {
  const costs = costsOf(figures, ASSUMED);
  const mediaCores = (figures.media.cores / figures.media.calls) * 1_000;
  const rows = costs.map(({ part, callMs, holdMs, coresPerThousand }) => [
    PART_NAMES[part],
    shortNumber(callMs),
    shortNumber(holdMs),
    shortNumber(coresPerThousand),
  ]);
  const head = ['part', 'CPU per call, ms', 'CPU per further hold, ms', 'cores for 1,000 concurrent calls'];
  return table(head, [...rows, ['`media`', '', '', shortNumber(mediaCores)]]);
}

function needsTable(all: readonly Needs[]): string {
  const row = (name: string, of: (needs: Needs) => string) => [name, ...all.map(of)];
  const number = (name: string, of: (needs: Needs) => number) => row(name, (needs) => shortNumber(of(needs)));
  const role = (name: string, of: (needs: Needs) => RoleNeed) =>
    row(name, (needs) => {
      const { processes, cores, gigabytes } = of(needs);
      return `${shortNumber(processes)} / ${shortNumber(cores)} / ${shortNumber(gigabytes)} GB`;
    });
  return table(
    ['concurrent calls', ...all.map(({ concurrentCalls }) => shortNumber(concurrentCalls))],
    [
      number('new calls per second', ({ callsPerSecond }) => callsPerSecond),
      number('installations', ({ installations }) => installations),
      role('`api`: processes / cores / memory', ({ api }) => api),
      role('`worker`: processes / cores / memory', ({ worker }) => worker),
      role('`media`: processes / cores / memory', ({ media }) => media),
      number('MongoDB: cores', ({ mongodbCores }) => mongodbCores),
      number('MongoDB: commands per second', ({ mongodb }) => mongodb.commandsPerSecond),
      number('MongoDB: connections, at most', ({ mongodb }) => mongodb.connections),
      row('MongoDB: GB per day', ({ mongodb: { gigabytesPerDay } }) =>
        gigabytesPerDay === 0 ? 'not measured yet' : shortNumber(gigabytesPerDay),
      ),
      number('Temporal: cores', ({ temporalCores }) => temporalCores),
      number('Temporal: state transitions per second', ({ temporal }) => temporal.transitionsPerSecond),
      number('Temporal: history shards of each installation', ({ temporal }) => temporal.shards),
      number('Temporal: histories, GB', ({ temporal }) => temporal.historyGigabytes),
      number('reconciliation: calls to compare per second of a walk', ({ comparedPerSecond }) => comparedPerSecond),
      number('customer accounts, at least', ({ accounts }) => accounts),
      number('infrastructure, USD for 1,000 minutes of talk', ({ usdPerMinute }) => 1_000 * usdPerMinute),
    ],
  );
}

function assumptionTable(assumed: Assumptions): string {
  return table(
    ['assumption', 'value'],
    [
      [
        'mean length of a call',
        `${assumed.talkSeconds} s of talk, so ${furtherHolds(assumed.talkSeconds)} further hold`,
      ],
      ['average use of a core', `${assumed.utilization * 100} %`],
      ['open calls that a worker keeps in memory', shortNumber(assumed.cachedCalls)],
      ['concurrent calls of one installation', `at most ${shortNumber(assumed.callsOfInstallation)}`],
      [
        'updates of one history shard',
        `${shortNumber(assumed.updatesOfShard)} per second: they are serial, and a write takes 5 ms`,
      ],
      ['retention of histories', `${assumed.retentionDays} days`],
      ['price of a core and of a GB of memory', `${assumed.coreHour} and ${assumed.gigabyteHour} USD per hour`],
    ],
  );
}

function checkTable(figures: ScalingFigures): string {
  const rows = checksOf(figures).map(({ name, unit, predicted, measured }) => [
    `${name}, ${unit}`,
    shortNumber(predicted),
    shortNumber(measured),
    shortNumber(predicted / measured),
  ]);
  return table(['check', 'model', 'measured', 'ratio'], rows);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Puts the tables between their markers in a page. @throws Error when a marker is missing */
export function withTables(page: string, tables: Readonly<Record<string, string>>): string {
  return Object.entries(tables).reduce((text, [name, rows]) => {
    const [begin, end] = [`<!-- ${name}: made by npm run structure -->\n`, `\n<!-- end of ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`docs/scaling.md has no place for ${name}.`);
    return `${text.slice(0, from + begin.length)}${rows}${text.slice(to)}`;
  }, page);
}
