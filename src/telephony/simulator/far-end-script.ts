import { z } from 'zod';

/** Seconds of a script. */
export const seconds = z.number().min(0).max(600);

const speech = z.string().min(1).max(500);

/** One turn of a person. Each but an interrupting one waits until the agent has finished speaking. */
const line = z.union([
  speech,
  z.strictObject({
    say: speech,
    /** Begins when the agent has been speaking for so long, whether or not it has finished. */
    interruptAfterSeconds: seconds.optional(),
  }),
  /** Keys pressed one by one. */
  z.strictObject({ keys: z.string().regex(/^[0-9A-D*#]{1,32}$/) }),
  /** Says nothing for so long. */
  z.strictObject({ waitSeconds: seconds }),
]);

/** What the far end does once the line is open. */
export const farEndScript = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('person'),
    lines: z.array(line).max(20).default(['Hello. Yes, I have a moment.']),
    /** Said after the last line; null: hangs up without a word. */
    goodbye: speech.nullable().default('Thank you, that is all. Goodbye.'),
    /** How often an agent that is silent is asked whether it is there, before the person goes on without it. */
    nudges: z.number().int().min(0).max(20).default(2),
    /** The script fails, and the person hangs up, when it is not through by then. */
    patienceSeconds: seconds.default(120),
  }),
  z.strictObject({ kind: z.literal('silent') }),
  z.strictObject({ kind: z.literal('talker'), text: speech }),
  z.strictObject({
    kind: z.literal('voicemail'),
    greeting: speech,
    hangUpAfterBeepSeconds: seconds,
  }),
  z.strictObject({ kind: z.literal('hangUp'), afterSeconds: seconds }),
]);

export type FarEndScript = z.output<typeof farEndScript>;
export type PersonScript = Extract<FarEndScript, { kind: 'person' }>;
export type PersonLine = PersonScript['lines'][number];
