import { z } from 'zod';

/** A duration in a script, in seconds. */
export const secondsSchema = z.number().min(0).max(600);

/** `beep`: with a tone. `silence`: without one. `other`: in another way that the carrier recognizes at once. */
const GREETING_ENDS = ['beep', 'silence', 'other'] as const;
export type GreetingEnd = (typeof GREETING_ENDS)[number];

const speech = z.string().min(1).max(500);

/** One turn of a person. It begins when the agent has finished speaking, unless it interrupts the agent. */
const line = z.union([
  speech,
  z.strictObject({
    say: speech,
    /** The turn begins when the agent has been speaking for this long, whether or not the agent has finished. */
    interruptAfterSeconds: secondsSchema.optional(),
  }),
  /** DTMF digits, pressed one by one. */
  z.strictObject({ digits: z.string().regex(/^[0-9A-D*#]{1,32}$/) }),
  /** The person stays silent for this long. */
  z.strictObject({ waitSeconds: secondsSchema }),
]);

/** The behavior of the remote party once the call is answered. */
export const remotePartyScript = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('person'),
    lines: z.array(line).max(20).default(['Hello. Yes, I have a moment.']),
    /** The words of the person after the last turn. Null: the person hangs up without a goodbye. */
    goodbye: speech.nullable().default('Thank you, that is all. Goodbye.'),
    /** How often to ask a silent agent whether it is there, before the script continues. */
    nudges: z.number().int().min(0).max(20).default(2),
    /** After this time the script fails and the person hangs up. */
    timeoutSeconds: secondsSchema.default(120),
  }),
  z.strictObject({ kind: z.literal('silent') }),
  z.strictObject({ kind: z.literal('talker'), text: speech }),
  z.strictObject({
    kind: z.literal('voicemail'),
    greeting: speech,
    /** How the greeting ends. */
    greetingEnd: z.enum(GREETING_ENDS).default('beep'),
    hangUpAfterBeepSeconds: secondsSchema,
  }),
  /** A fax machine: its tone, then silence until it hangs up. */
  z.strictObject({ kind: z.literal('fax') }),
  z.strictObject({ kind: z.literal('hangUp'), afterSeconds: secondsSchema }),
]);

export type RemotePartyScript = z.output<typeof remotePartyScript>;
export type PersonScript = Extract<RemotePartyScript, { kind: 'person' }>;
export type PersonLine = PersonScript['lines'][number];
