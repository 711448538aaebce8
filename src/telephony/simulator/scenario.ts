import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { ANSWERED_BY } from './call-progress.js';
import { remotePartyScript, secondsSchema } from './remote-party-script.js';

/**
 * Faults of status callbacks. `shuffled`: all are held back until the call has ended, and then sent in reverse order.
 */
const callbacks = z.strictObject({
  copies: z.number().int().min(1).max(10).default(1),
  order: z.enum(['fired', 'shuffled']).default('fired'),
  delaySeconds: secondsSchema.default(0),
  drop: z.enum(['none', 'final', 'all']).default('none'),
  wrongSignature: z.boolean().default(false),
  extraFields: z.record(z.string(), z.string()).default({}),
});

/**
 * The fault of the create request, applied to its first `times` attempts. `concurrency`: the account has too many calls.
 * `unverified`: it is a trial account, which may not call this number. `unauthorized`: its credentials are invalid.
 */
const create = z.strictObject({
  fault: z.enum(['error', 'throttle', 'concurrency', 'unverified', 'unauthorized', 'dropAnswer', 'hang']),
  times: z.number().int().min(1).max(1_000),
  seconds: secondsSchema.default(0),
});

/** Faults of the media stream. */
const stream = z.strictObject({
  /** Percentage of frames lost in each direction. */
  lossPercent: z.number().min(0).max(100).default(0),
  /** Maximum delay of frames to the carrier's customer, in ms. The frames stay in order. */
  jitterMs: z.number().int().min(0).max(1_000).default(0),
  /** Whether frames of silence are not sent. Their time passes in the timestamps of the frames after them. */
  omitsSilence: z.boolean().default(false),
  /** A time in which nothing arrives at the carrier's customer. Then everything that was held back arrives at once. */
  stall: z.strictObject({ afterSeconds: secondsSchema, forSeconds: secondsSchema }).optional(),
  /** From this time on, the timestamps of frames are wrong by `byMs`. */
  timestampJump: z
    .strictObject({ afterSeconds: secondsSchema, byMs: z.number().int().min(-86_400_000).max(86_400_000) })
    .optional(),
  breakOff: z
    .strictObject({
      /**
       * `reset`: the connection is reset. `silence`: the carrier keeps the connection, but sends, reads and answers
       * nothing.
       */
      how: z.enum(['reset', 'silence']),
      afterSeconds: secondsSchema,
      /** Seconds after which the carrier considers the stream ended and continues with the next verb. */
      goOnAfterSeconds: secondsSchema.default(0),
      /** How many streams of the call break off. Later streams do not. */
      times: z.number().int().min(1).max(100).default(1),
    })
    .optional(),
});

/** Faults of answering machine detection. */
const detection = z.strictObject({
  /** A wrong result. */
  result: z.enum(ANSWERED_BY).optional(),
  /** Seconds from the answer to the result, or from the end of the greeting if the end was asked for. */
  afterSeconds: secondsSchema.optional(),
});

const scenario = z.strictObject({
  name: z.string().min(1),
  description: z.string(),
  ring: z.strictObject({
    seconds: secondsSchema.default(0),
    /** `nothing`: rings until the ring timeout. */
    outcome: z.enum(['answer', 'busy', 'failed', 'nothing']),
    sip: z.number().int().min(400).max(699).optional(),
  }),
  remoteParty: remotePartyScript.default({ kind: 'silent' }),
  /** What answers, for answering machine detection. */
  answeredBy: z.enum(['human', 'machine', 'fax', 'unknown']).default('human'),
  detection: detection.prefault({}),
  /** Seconds until the list of calls shows the call. */
  listedAfterSeconds: secondsSchema.default(0),
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
  /**
   * Returns the scenario of a number, given by the last two digits of +1 202 555 01NN. Other numbers use scenario 00.
   */
  findByNumber(number: string): Scenario;
  /** Finds a scenario by its two digits or its name. */
  find(key: string): Scenario | undefined;
  all(): Scenario[];
}

const SCRIPTED_NUMBER = /^\+120255501(\d\d)$/;
const FOLDER = join('src', 'telephony', 'simulator', 'scenarios');

/**
 * Loads the scenario files. Every file whose name has two digits is one scenario.
 * @throws Error with the file name when a file is not a valid scenario
 */
export function loadScenarios(folder = scenarioFolder()): Scenarios {
  const byDigits = new Map<string, Scenario>();
  for (const file of readdirSync(folder).filter((name) => /^\d\d\.json$/.test(name))) {
    const parsed = scenario.safeParse(JSON.parse(readFileSync(join(folder, file), 'utf8')));
    if (!parsed.success) throw new Error(`${file} is not a valid scenario. ${z.prettifyError(parsed.error)}`);
    byDigits.set(file.slice(0, 2), parsed.data);
  }
  const standard = byDigits.get('00');
  if (standard === undefined) throw new Error('The default scenario 00.json is missing.');
  return {
    findByNumber: (number) => byDigits.get(SCRIPTED_NUMBER.exec(number)?.[1] ?? '00') ?? standard,
    find: (key) => byDigits.get(key) ?? [...byDigits.values()].find((candidate) => candidate.name === key),
    all: () => [...byDigits.values()],
  };
}

/** The compiler does not copy JSON files, so the built code finds them through the package root. */
function scenarioFolder(): string {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, FOLDER);
    if (existsSync(join(folder, 'package.json')) && existsSync(candidate)) return candidate;
  }
  throw new Error(`The scenario files (${FOLDER}) are missing from the package.`);
}
