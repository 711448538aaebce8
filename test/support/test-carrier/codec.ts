import { MAX_MEDIA_BYTES, ProtocolViolation, type MediaCodec, type MediaEvent } from '../../../src/telephony/media.js';

/** The message number and the time in ms, with 32 bits each. */
const HEADER_BYTES = 8;

/**
 * The maximum number of messages that wait for a missing earlier one. If more arrive, the codec skips the missing
 * messages.
 */
const MOST_HELD = 16;

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * The codec of the test carrier. Audio is binary; all other messages are JSON. Messages are numbered and may arrive out
 * of order, so the codec holds a message until all earlier ones have arrived.
 */
export function createTestCodec(): MediaCodec {
  const held = new Map<number, MediaEvent>();
  let next = 0;

  return {
    decode(data, isBinary, take) {
      const { number, event } = isBinary ? audioOf(data) : controlOf(data);
      if (number < next) return;
      held.set(number, event);
      if (held.size > MOST_HELD) next = Math.min(...held.keys());
      for (let due = held.get(next); due !== undefined; due = held.get(next)) {
        held.delete(next++);
        take(due);
      }
    },
    media: (frame) => frame,
    mark: (name) => JSON.stringify({ t: 'tag', tag: name }),
    clear: () => JSON.stringify({ t: 'drop' }),
  };
}

function audioOf(data: Buffer): { number: number; event: MediaEvent } {
  const mulaw = data.subarray(HEADER_BYTES);
  if (mulaw.length === 0 || mulaw.length > MAX_MEDIA_BYTES) throw new ProtocolViolation(1007, 'no short audio');
  return { number: data.readUInt32BE(0), event: { event: 'media', mulaw, timestampMs: data.readUInt32BE(4) } };
}

function controlOf(data: Buffer): { number: number; event: MediaEvent } {
  let message: unknown;
  try {
    message = JSON.parse(data.toString('utf8'));
  } catch {
    throw new ProtocolViolation(1007, 'the message must be JSON');
  }
  if (typeof message !== 'object' || message === null) throw new ProtocolViolation(1007, 'not an object');
  const fields = message as Record<string, unknown>;
  const { n } = fields;
  if (typeof n !== 'number' || !Number.isSafeInteger(n) || n < 0) throw new ProtocolViolation(1007, 'no number');
  return { number: n, event: eventOf(fields) };
}

function eventOf(fields: Record<string, unknown>): MediaEvent {
  switch (fields['t']) {
    case 'hello':
      return {
        event: 'start',
        streamId: text(fields['stream'], UUID),
        carrierSid: text(fields['call'], UUID),
        isTelephoneAudio: fields['audio'] === 'ulaw/8000',
        streamNumber: Number(fields['attempt'] ?? 0),
      };
    case 'key':
      return { event: 'dtmf', digit: text(fields['key'], /^[0-9*#]$/) };
    case 'played':
      return { event: 'mark', name: text(fields['tag'], /^.{1,128}$/s) };
    case 'bye':
      return { event: 'stop' };
    default:
      text(fields['t'], /^.{1,64}$/);
      return { event: 'unknown' };
  }
}

function text(value: unknown, pattern: RegExp): string {
  if (typeof value !== 'string' || !pattern.test(value))
    throw new ProtocolViolation(1007, 'a field is missing or invalid');
  return value;
}

/** Encodes an event in the form in which the carrier sends it. */
export function encode(number: number, event: MediaEvent): { data: Buffer; isBinary: boolean } {
  if (event.event === 'media') {
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32BE(number, 0);
    header.writeUInt32BE(event.timestampMs, 4);
    return { data: Buffer.concat([header, event.mulaw]), isBinary: true };
  }
  return { data: Buffer.from(JSON.stringify({ n: number, ...wordsOf(event) })), isBinary: false };
}

function wordsOf(event: Exclude<MediaEvent, { event: 'media' }>): object {
  switch (event.event) {
    case 'start':
      return {
        t: 'hello',
        call: event.carrierSid,
        stream: event.streamId,
        audio: event.isTelephoneAudio ? 'ulaw/8000' : 'opus/48000',
        attempt: event.streamNumber,
      };
    case 'dtmf':
      return { t: 'key', key: event.digit };
    case 'mark':
      return { t: 'played', tag: event.name };
    case 'stop':
      return { t: 'bye' };
    default:
      return { t: 'later' };
  }
}
