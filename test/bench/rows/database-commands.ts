import { join } from 'node:path';
import { startBareService } from '../bare/bare-service.js';
import { countCommands, createCommandLog, describeCommands, type RecordedCommand } from '../commands/commands.js';
import { figureOf, type Figure } from '../report/figure.js';
import { startBenchService, SILENT_CALLEE, type BenchService } from '../stack/service.js';
import { eventually } from '../../support/http/harness.js';
import type { Row, RowContext } from './row.js';
import { repeat } from './side.js';

const CALLS = 10;
const WARM_UP = 5;
const CANCELS = 3;
const GETS = 50;
/** The commands that the durable steps of the baseline need. The baseline must not grow, so this is checked. */
export const BARE_COMMANDS = 7;

/** A number of operations to count, with the number of units in each round. */
interface Counted {
  name: string;
  units: number;
  limit?: number;
  act: (service: BenchService) => Promise<unknown>;
}

const COUNTED: readonly Counted[] = [
  { name: 'busy call', units: CALLS, limit: 22, act: (service) => repeat(CALLS, () => busyCall(service)) },
  {
    name: 'GET /outbound_call',
    units: GETS,
    act: async (service) => {
      const callId = await busyCall(service);
      await repeat(GETS, () => service.request('GET', `/outbound_call?call_id=${callId}`));
    },
  },
  {
    name: 'GET /calls/{call_id}',
    units: GETS,
    act: async (service) => {
      const callId = await busyCall(service);
      await repeat(GETS, () => service.request('GET', `/calls/${callId}`));
    },
  },
  { name: 'GET /calls', units: GETS, act: (service) => repeat(GETS, () => service.request('GET', '/calls?limit=10')) },
  { name: 'canceled call', units: CANCELS, act: (service) => repeat(CANCELS, () => canceledCall(service)) },
];

export const databaseCommands: Row = {
  name: 'commands',
  about: 'database commands of a busy call and of single operations, by name',
  async run({ servers, rounds, say }) {
    const bare = await bareCommands({ servers, rounds, say });
    const log = createCommandLog(join(servers.folder, 'commands.jsonl'));
    const service = await startBenchService(servers, { commandsFile: log.file });
    const figures: Figure[] = [];
    const notes: string[] = [];
    const details: Record<string, unknown> = {};
    try {
      await service.firstCall();
      await repeat(WARM_UP, () => busyCall(service));
      for (const { name, units, limit, act } of COUNTED) {
        const counts: number[] = [];
        let all: RecordedCommand[] = [];
        for (let round = 0; round < rounds; round += 1) {
          say(`commands: ${name}, round ${round + 1}`);
          const commands = relevant(await log.during(() => act(service)), name);
          counts.push(commands.length / units);
          all = all.concat(commands);
        }
        const operations = countCommands(all, units * rounds);
        const baseline = name === 'busy call' ? { bare } : {};
        const limited = limit === undefined ? {} : { limit: { of: 'ours' as const, atMost: limit } };
        figures.push(figureOf({ name: `database commands: ${name}`, unit: '', ours: counts, ...baseline, ...limited }));
        notes.push(`${name}:`, ...describeCommands(operations).map((line) => `  ${line}`));
        details[name] = operations;
      }
    } finally {
      await service.stop();
    }
    return { figures, notes, details };
  },
};

/** Leaves out the background and, for a single request, the call that the request is about. */
function relevant(commands: readonly RecordedCommand[], name: string): RecordedCommand[] {
  return commands.filter(({ operation }) => {
    if (operation === 'background') return false;
    return name.startsWith('GET ') ? operation.replace(/^after /, '') === name : true;
  });
}

/** Counts the commands of the baseline. @throws Error when they are not exactly those of its durable steps */
async function bareCommands({ servers, rounds, say }: RowContext): Promise<number[]> {
  const log = createCommandLog(join(servers.folder, 'bare-commands.jsonl'));
  const bare = await startBareService(servers, { commandsFile: log.file });
  const counts: number[] = [];
  try {
    const call = async () => bare.inbox.received(await bare.place());
    await repeat(WARM_UP, call);
    for (let round = 0; round < rounds; round += 1) {
      say(`commands: baseline, round ${round + 1}`);
      const commands = await log.during(() => repeat(CALLS, call));
      counts.push(commands.length / CALLS);
    }
  } finally {
    await bare.stop();
  }
  for (const count of counts) {
    if (count !== BARE_COMMANDS) {
      throw new Error(`The baseline sent ${count} database commands per call; it must send exactly ${BARE_COMMANDS}.`);
    }
  }
  return counts;
}

async function busyCall(service: BenchService): Promise<string> {
  const callId = await service.place();
  await service.inbox.received(callId);
  return callId;
}

/** Cancels a call while the phone rings. */
async function canceledCall(service: BenchService): Promise<void> {
  const callId = await service.place(SILENT_CALLEE);
  const { calls, carrierBindings } = service.database;
  await eventually(
    async () => (await carrierBindings.exists({ callId })) ?? (await carrierBindings.exists({ _id: callId })),
  );
  await eventually(async () => calls.exists({ _id: callId, status: 'RINGING' }));
  await service.request('POST', `/calls/${callId}/cancel`);
  await service.inbox.received(callId);
}
