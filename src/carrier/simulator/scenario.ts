import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

const seconds = z.number().min(0).max(600);

/** What the far end does once the line is open. */
const farEnd = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('person'),
    /** Said one by one, each when the agent has finished speaking. */
    lines: z.array(z.string().min(1)).max(20).default(['Hello. Yes, I have a moment.']),
    goodbye: z.string().min(1).default('Thank you, that is all. Goodbye.'),
  }),
  z.strictObject({ kind: z.literal('silent') }),
  z.strictObject({ kind: z.literal('talker'), text: z.string().min(1) }),
  z.strictObject({
    kind: z.literal('voicemail'),
    greeting: z.string().min(1),
    hangUpAfterBeepSeconds: seconds,
  }),
  z.strictObject({ kind: z.literal('hangUp'), afterSeconds: seconds }),
]);

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

const scenario = z.strictObject({
  name: z.string().min(1),
  description: z.string(),
  ring: z.strictObject({
    seconds: seconds.default(0),
    /** `nothing`: it rings until the caller gives up. */
    outcome: z.enum(['answer', 'busy', 'failed', 'nothing']),
    sip: z.number().int().min(400).max(699).optional(),
  }),
  farEnd: farEnd.default({ kind: 'silent' }),
  callbacks: callbacks.prefault({}),
  create: create.optional(),
});

export type Scenario = z.output<typeof scenario>;
export type FarEndScript = Scenario['farEnd'];
export type CallbackFaults = Scenario['callbacks'];
export type CreateFault = NonNullable<Scenario['create']>;

export interface Scenarios {
  /** The script of a number: the last two digits of +1 202 555 01NN. Any other number answers like 00. */
  ofNumber(number: string): Scenario;
  /** A scenario by its two digits or its name. */
  find(key: string): Scenario | undefined;
  all(): Scenario[];
}

const SCRIPTED_NUMBER = /^\+120255501(\d\d)$/;
const FOLDER = join('src', 'carrier', 'simulator', 'scenarios');

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
