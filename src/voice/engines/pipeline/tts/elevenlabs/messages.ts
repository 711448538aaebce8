import { z } from 'zod';

/** The messages to `multi-stream-input`: the first one of a context, a sentence, and the ends of a context and of all. */
export type MultiContextMessage =
  | { text: ' '; context_id: string; voice_settings?: { speed: number } }
  | { text: string; context_id: string; flush: true }
  | { context_id: string; close_context: true }
  | { close_socket: true };

const alignment = z.object({ chars: z.array(z.string()).nullish() }).nullish();

export const multiContextAnswer = z.object({
  contextId: z.string().nullish(),
  audio: z.string().nullish(),
  isFinal: z.boolean().nullish(),
  /** The characters of the text as it was sent. */
  alignment,
  /** The characters as they are spoken, such as `ten` for `10`. */
  normalizedAlignment: alignment,
});

export type MultiContextAnswer = z.output<typeof multiContextAnswer>;

/** A message of `multi-stream-input`, before it is decoded. */
export type SentMultiContextAnswer = z.input<typeof multiContextAnswer>;
