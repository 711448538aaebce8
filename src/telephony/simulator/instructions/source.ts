/** The URL and method of a request that the carrier sends. */
export interface WebhookTarget {
  url: string;
  method: 'GET' | 'POST';
}

/** Where the carrier gets a call's instructions. */
export type TwimlSource =
  /** `extra`: form fields to send in addition to those that the carrier always sends. */
  | { kind: 'url'; target: WebhookTarget; fallback?: WebhookTarget; extra?: Record<string, string> }
  | { kind: 'inline'; twiml: string };

/**
 * How instructions ended. `done`: the last verb has run, or a verb hung up. `rejected`: the call was rejected before
 * the answer. `failed`: there were no usable instructions.
 */
export type TwimlEnd = 'done' | 'rejected' | 'failed';

/** Thrown when TwiML could not be fetched or parsed. `code` is Twilio's error code. */
export class InstructionError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}
