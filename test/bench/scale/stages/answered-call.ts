import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { countCommands, createCommandLog, describeCommands, type RecordedCommand } from '../../commands/commands.js';
import { figureOf, median } from '../../report/figure.js';
import { inParallel } from '../../rows/side.js';
import { followCalls, type FollowedCalls } from '../load.js';
import { startScaleService, type ScaleService } from '../scale-service.js';
import { COURSE } from './course.js';
import type { Stage } from './stage.js';

const CALLS = 20;
const WARM_UP = 5;
const LANES = 4;
/** Calls that are long enough for one further hold, after 45 s. */
const LONG_CALLS = 20;
const LONG_TALK_MS = 55_000;

/** The size of one history, and the work that Temporal had with it. */
interface HistorySize {
  events: number;
  bytes: number;
  transitions: number;
}

/** The commands and the history of an answered call, and of each further hold. */
export const answeredCall: Stage = () => ({
  name: 'answered-call',
  about: 'database commands, history and state transitions of an answered call, and of each further hold',
  withinMs: 600_000,
  async run({ servers, say }) {
    const commandsFile = join(servers.folder, `commands-${randomUUID()}.jsonl`);
    const log = createCommandLog(commandsFile);
    const service = await startScaleService(servers, { calls: LONG_CALLS, maxCachedCalls: 1_000, commandsFile });
    const followed = followCalls(service);
    try {
      await service.carrier.follow(COURSE);
      await service.ready();
      await place(followed, WARM_UP, LANES);
      say('answered-call: short calls');
      const short = await measure(service, followed, log, { calls: CALLS, atOnce: LANES });
      await service.carrier.follow({ ...COURSE, talkMs: LONG_TALK_MS });
      say('answered-call: calls with a further hold');
      const long = await measure(service, followed, log, { calls: LONG_CALLS, atOnce: LONG_CALLS });
      const both = { call: sizesOf(short), hold: differenceOf(long, short) };
      return {
        figures: figuresOf(both),
        notes: [
          'A short call:',
          ...describeCommands(short.operations),
          'A call with a further hold:',
          ...describeCommands(long.operations),
        ],
        details: both,
      };
    } finally {
      followed.stop();
      await service.stop();
    }
  },
});

async function place(followed: FollowedCalls, calls: number, atOnce: number): Promise<string[]> {
  const callIds: string[] = [];
  await inParallel(calls, atOnce, async () => {
    const call = await followed.placeAccepted();
    callIds.push(call.callId);
    await followed.end(call);
  });
  return callIds;
}

async function measure(
  service: ScaleService,
  followed: FollowedCalls,
  log: ReturnType<typeof createCommandLog>,
  { calls, atOnce }: { calls: number; atOnce: number },
) {
  let callIds: string[] = [];
  const commands = await log.during(async () => void (callIds = await place(followed, calls, atOnce)));
  const sizes: HistorySize[] = [];
  for (const callId of callIds) {
    const { historyLength, historySize, raw } = await service.client.workflow.getHandle(callId).describe();
    const transitions = Number(raw.workflowExecutionInfo?.stateTransitionCount ?? Number.NaN);
    sizes.push({ events: historyLength, bytes: historySize ?? Number.NaN, transitions });
  }
  const ofCalls = commands.filter(({ operation }: RecordedCommand) => operation !== 'background');
  return { sizes, perCall: ofCalls.length / calls, operations: countCommands(ofCalls, calls) };
}

type Measured = Awaited<ReturnType<typeof measure>>;
type CallSize = HistorySize & { commands: number };

function sizesOf({ sizes, perCall }: Measured): CallSize {
  const middle = (of: (size: HistorySize) => number) => median(sizes.map(of));
  return {
    commands: perCall,
    events: middle(({ events }) => events),
    bytes: middle(({ bytes }) => bytes),
    transitions: middle(({ transitions }) => transitions),
  };
}

function differenceOf(long: Measured, short: Measured): CallSize {
  const [more, less] = [sizesOf(long), sizesOf(short)];
  return {
    commands: more.commands - less.commands,
    events: more.events - less.events,
    bytes: more.bytes - less.bytes,
    transitions: more.transitions - less.transitions,
  };
}

function figuresOf({ call, hold }: { call: CallSize; hold: CallSize }) {
  const of = (name: string, { commands, events, bytes, transitions }: CallSize) => [
    figureOf({ name: `${name}: database commands`, unit: '', ours: [commands] }),
    figureOf({ name: `${name}: history`, unit: 'events', ours: [events] }),
    figureOf({ name: `${name}: history`, unit: 'bytes', ours: [bytes] }),
    figureOf({ name: `${name}: state transitions`, unit: '', ours: [transitions] }),
  ];
  return [...of('answered call', call), ...of('each further hold', hold)];
}
