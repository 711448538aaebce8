/** Where the carrier sends a request. */
export interface WebhookTarget {
  url: string;
  method: 'GET' | 'POST';
}

/** Where the instructions of a call come from. */
export type TwimlSource =
  /** `extra`: form fields beside the carrier's own. */
  | { kind: 'url'; target: WebhookTarget; fallback?: WebhookTarget; extra?: Record<string, string> }
  | { kind: 'inline'; twiml: string };

/** `done`: the verbs ran out or said hang up; `rejected`: refused before an answer; `failed`: no usable instructions. */
export type TwimlEnd = 'done' | 'rejected' | 'failed';

/** The document could not be fetched or understood; the code is the carrier's. */
export class InstructionError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}
