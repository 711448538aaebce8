/** What a carrier tells over the media socket of a call, in our words. */
export type MediaEvent =
  | { event: 'connected' }
  /** `resumption`: the number that the instruction to stream gave this stream; 0 for a call's first. */
  | { event: 'start'; streamId: string; carrierSid: string; isTelephoneAudio: boolean; resumption: number }
  | { event: 'media'; mulaw: Uint8Array; timestampMs: number }
  | { event: 'dtmf'; digit: string }
  | { event: 'mark'; name: string }
  | { event: 'stop' }
  /** An event of a later version of the protocol. */
  | { event: 'unknown' };

/** The longest chunk of audio that is taken in one message: 200 ms of 8 kHz mu-law. */
export const MAX_MEDIA_BYTES = 1_600;

/** The messages of one media socket. It keeps what it needs to know of its stream, so each socket has its own. */
export interface MediaCodec {
  /**
   * Reads one message and hands out the events that it completes, in the order in which they happened.
   * @throws ProtocolViolation when it is not of the carrier's protocol
   */
  decode(data: Buffer, isBinary: boolean, take: (event: MediaEvent) => void): void;
  /** Audio to play after what was sent before: one frame of 8 kHz mu-law. */
  media(frame: Uint8Array): string | Uint8Array;
  /** Comes back as an event when the audio before it was played or cleared. */
  mark(name: string): string | Uint8Array;
  /** Drops what was sent and is not played yet. */
  clear(): string | Uint8Array;
}

/** The far end does not speak the protocol. `closeCode` is what the socket is closed with. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';

  constructor(
    readonly closeCode: 1003 | 1007 | 1008 | 1009,
    message: string,
  ) {
    super(message);
  }
}
