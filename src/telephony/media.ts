/** An event on a call's media stream, in a form that is the same for all carriers. */
export type MediaEvent =
  | { event: 'connected' }
  /** `streamNumber`: the number in the instruction that opened this stream; 0 for the call's first stream. */
  | { event: 'start'; streamId: string; carrierSid: string; isTelephoneAudio: boolean; streamNumber: number }
  | { event: 'media'; mulaw: Uint8Array; timestampMs: number }
  | { event: 'dtmf'; digit: string }
  | { event: 'mark'; name: string }
  /** Words that the caller typed instead of speaking. */
  | { event: 'text'; text: string }
  | { event: 'stop' }
  /** An event of a later protocol version. */
  | { event: 'unknown' };

/** The reason with which a stream is closed when another stream continues its call. */
export const SUPERSEDED = 'another stream owns the call';

/** The largest audio chunk accepted in one message: 200 ms of 8 kHz mu-law. */
export const MAX_MEDIA_BYTES = 1_600;

/**
 * Encodes and decodes the messages of one media socket. It keeps the state of that stream, so each socket needs a
 * separate codec.
 */
export interface MediaCodec {
  /**
   * Whether a customer controls the other side, who may return no marks to look as if the agent had not been heard.
   * False by default: a carrier gains nothing by that.
   */
  readonly isCustomers?: boolean;
  /** Whether the other side can send typed words, as `text` events. False by default. */
  readonly takesText?: boolean;
  /**
   * Parses one message and passes the events that it contains or completes to `take`, in order.
   * @throws ProtocolViolation when the message violates the carrier's protocol
   */
  decode(data: Buffer, isBinary: boolean, take: (event: MediaEvent) => void): void;
  /** Encodes one frame of 8 kHz mu-law. The carrier plays it after everything sent before. */
  media(frame: Uint8Array): string | Uint8Array;
  /**
   * Encodes a mark. The carrier returns the mark as an event when it has played or cleared the audio sent before the
   * mark.
   */
  mark(name: string): string | Uint8Array;
  /** Encodes the message by which the carrier discards audio that was sent but not played yet. */
  clear(): string | Uint8Array;
  /** Encodes the last message before this server closes the socket; absent if the carrier expects none. */
  farewell?(closeCode: number, reason: string): string;
}

/**
 * Thrown when the other side of a media socket violates the protocol. `closeCode` is the WebSocket close code to use.
 */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';

  constructor(
    readonly closeCode: 1003 | 1007 | 1008 | 1009,
    message: string,
  ) {
    super(message);
  }
}
