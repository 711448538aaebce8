import { z } from 'zod';

/** A duration in a script, in seconds. */
export const seconds = z.number().min(0).max(600);

const speech = z.string().min(1).max(500);

/** One turn of a person. Every turn waits until the agent has finished speaking, unless it interrupts. */
const line = z.union([
  speech,
  z.strictObject({
    say: speech,
    /** Begins when the agent has been speaking for this long, whether or not it has finished. */
    interruptAfterSeconds: seconds.optional(),
  }),
  /** DTMF digits, pressed one by one. */
  z.strictObject({ keys: z.string().regex(/^[0-9A-D*#]{1,32}$/) }),
  /** Stays silent for this long. */
  z.strictObject({ waitSeconds: seconds }),
]);

/** The behavior of the remote party once the call is answered. */
export const farEndScript = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('person'),
    lines: z.array(line).max(20).default(['Hello. Yes, I have a moment.']),
    /** Said after the last line; null: hangs up without a goodbye. */
    goodbye: speech.nullable().default('Thank you, that is all. Goodbye.'),
    /** How often to ask a silent agent whether it is there before continuing with the script. */
    nudges: z.number().int().min(0).max(20).default(2),
    /** After this time the script fails and the person hangs up. */
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
