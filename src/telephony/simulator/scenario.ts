import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { farEndScript, seconds } from './far-end-script.js';

const callbacks = z.strictObject({
  copies: z.number().int().min(1).max(10).default(1),
  order: z.enum(['fired', 'shuffled']).default('fired'),
  delaySeconds: seconds.default(0),
  drop: z.enum(['none', 'final', 'all']).default('none'),
  wrongSignature: z.boolean().default(false),
  extraFields: z.record(z.string(), z.string()).default({}),
});

/** What goes wrong with the create request, the first `times` times it is made. */
const create = z.strictObject({
  fault: z.enum(['error', 'throttle', 'dropAnswer', 'hang']),
  times: z.number().int().min(1).max(1_000),
  seconds: seconds.default(0),
});

/** What happens to the media stream on its way. */
const stream = z.strictObject({
  /** So many of a hundred frames are lost, in either direction. */
  lossPercent: z.number().min(0).max(100).default(0),
  /** Frames come to the customer up to so much late, in order. */
  jitterMs: z.number().int().min(0).max(1_000).default(0),
  breakOff: z
    .strictObject({
      /** `reset`: the connection is reset; `silence`: nothing is sent, read or answered any more, and nothing closed. */
      how: z.enum(['reset', 'silence']),
      afterSeconds: seconds,
      /** So much later the carrier takes the stream for gone and goes on with the next verb. */
      goOnAfterSeconds: seconds.default(0),
      /** So many streams of the call break off, and those after them do not. */
      times: z.number().int().min(1).max(100).default(1),
    })
    .optional(),
});

const scenario = z.strictObject({
  name: z.string().min(1),
  description: z.string(),
  ring: z.strictObject({
    seconds: seconds.default(0),
    /** `nothing`: it rings until the caller gives up. */
    outcome: z.enum(['answer', 'busy', 'failed', 'nothing']),
    sip: z.number().int().min(400).max(699).optional(),
  }),
  farEnd: farEndScript.default({ kind: 'silent' }),
  /** What the carrier's detection of answering machines takes the far end for. */
  answeredBy: z.enum(['human', 'machine', 'unknown']).default('human'),
  callbacks: callbacks.prefault({}),
  stream: stream.prefault({}),
  create: create.optional(),
});

export type Scenario = z.output<typeof scenario>;
export type CallbackFaults = Scenario['callbacks'];
export type StreamFaults = Scenario['stream'];
export type BreakOff = NonNullable<StreamFaults['breakOff']>;
export type CreateFault = NonNullable<Scenario['create']>;

export interface Scenarios {
  /** The script of a number: the last two digits of +1 202 555 01NN. Any other number answers like 00. */
  ofNumber(number: string): Scenario;
  /** A scenario by its two digits or its name. */
  find(key: string): Scenario | undefined;
  all(): Scenario[];
}

const SCRIPTED_NUMBER = /^\+120255501(\d\d)$/;
const FOLDER = join('src', 'telephony', 'simulator', 'scenarios');

/**
 * Reads the scenario files; a new file is a new scenario.
 * @throws Error that names the file that is not a scenario
 */
export function loadScenarios(folder = scenarioFolder()): Scenarios {
  const byDigits = new Map<string, Scenario>();
  for (const file of readdirSync(folder).filter((name) => /^\d\d\.json$/.test(name))) {
    const parsed = scenario.safeParse(JSON.parse(readFileSync(join(folder, file), 'utf8')));
    if (!parsed.success) throw new Error(`${file} is not a scenario. ${z.prettifyError(parsed.error)}`);
    byDigits.set(file.slice(0, 2), parsed.data);
  }
  const standard = byDigits.get('00');
  if (standard === undefined) throw new Error('The scenario 00.json, which every other number follows, is missing.');
  return {
    ofNumber: (number) => byDigits.get(SCRIPTED_NUMBER.exec(number)?.[1] ?? '00') ?? standard,
    find: (key) => byDigits.get(key) ?? [...byDigits.values()].find((candidate) => candidate.name === key),
    all: () => [...byDigits.values()],
  };
}

/** The compiler copies no JSON, so from the build the files are found through the package's root. */
function scenarioFolder(): string {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, FOLDER);
    if (existsSync(join(folder, 'package.json')) && existsSync(candidate)) return candidate;
  }
  throw new Error(`The scenario files (${FOLDER}) are missing from the package.`);
}
