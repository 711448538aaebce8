/** The destination of a carrier request. */
export interface WebhookTarget {
  url: string;
  method: 'GET' | 'POST';
}

/** The source of a call's instructions. */
export type TwimlSource =
  /** `extra`: form fields in addition to the carrier's own. */
  | { kind: 'url'; target: WebhookTarget; fallback?: WebhookTarget; extra?: Record<string, string> }
  | { kind: 'inline'; twiml: string };

/**
 * `done`: the last verb has run or a verb hung up; `rejected`: rejected before the answer; `failed`: no usable
 * instructions.
 */
export type TwimlEnd = 'done' | 'rejected' | 'failed';

/** The TwiML could not be fetched or parsed; `code` is Twilio's error code. */
export class InstructionError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}
