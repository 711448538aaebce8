import { MAX_MEDIA_BYTES, ProtocolViolation, type MediaCodec, type MediaEvent } from '../media.js';
import { CALL_SID, STREAM_SID } from './identifiers.js';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Creates a codec for Twilio Media Streams: JSON text frames, audio in base64, numbers as strings. */
export function createTwilioCodec(): MediaCodec {
  let streamSid = '';
  return {
    decode(data, isBinary, take) {
      if (isBinary) throw new ProtocolViolation(1003, 'binary frames are not supported');
      const event = parseCarrierMessage(data.toString('utf8'));
      if (event.event === 'start' && streamSid === '') streamSid = event.streamId;
      take(event);
    },
    media: (frame) => mediaMessage(streamSid, frame),
    mark: (name) => JSON.stringify({ event: 'mark', streamSid, mark: { name } }),
    clear: () => JSON.stringify({ event: 'clear', streamSid }),
  };
}

/**
 * Parses one text frame.
 * @throws ProtocolViolation (1007) when the text is not JSON or does not match the protocol
 */
export function parseCarrierMessage(text: string): MediaEvent {
  const message = requireObject(parseJson(text));
  switch (message['event']) {
    case 'connected':
    case 'stop':
      return { event: message['event'] };
    case 'start':
      return parseStart(requireObject(message['start']));
    case 'media':
      return parseMedia(requireObject(message['media']));
    case 'dtmf':
      return { event: 'dtmf', digit: requireText(requireObject(message['dtmf'])['digit'], /^[0-9A-D*#]$/) };
    case 'mark':
      return { event: 'mark', name: requireText(requireObject(message['mark'])['name'], /^.{1,128}$/s) };
    default:
      requireText(message['event'], /^.{1,64}$/);
      return { event: 'unknown' };
  }
}

/** @param streamSid validated by `parseCarrierMessage`; it has only letters and digits, so it needs no escaping */
function mediaMessage(streamSid: string, frame: Uint8Array): string {
  const payload = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('base64');
  return `{"event":"media","streamSid":"${streamSid}","media":{"payload":"${payload}"}}`;
}

function parseStart(start: Record<string, unknown>): MediaEvent {
  const format = requireObject(start['mediaFormat']);
  return {
    event: 'start',
    streamId: requireText(start['streamSid'], STREAM_SID),
    carrierSid: requireText(start['callSid'], CALL_SID),
    isTelephoneAudio:
      format['encoding'] === 'audio/x-mulaw' &&
      Number(format['sampleRate']) === 8_000 &&
      Number(format['channels']) === 1,
    streamNumber: parseStreamNumber(start['customParameters']),
  };
}

function parseStreamNumber(parameters: unknown): number {
  const number = parameters === undefined ? undefined : requireObject(parameters)['resumption'];
  return number === undefined ? 0 : Number(requireText(number, /^[1-9]\d{0,2}$/));
}

function parseMedia(media: Record<string, unknown>): MediaEvent {
  const payload = requireText(media['payload'], BASE64);
  const mulaw = Buffer.from(payload, 'base64');
  if (payload.length % 4 !== 0 || mulaw.length > MAX_MEDIA_BYTES)
    throw violation(`payload must be base64 of at most ${MAX_MEDIA_BYTES} bytes`);
  const timestamp = media['timestamp'];
  const timestampMs = typeof timestamp === 'number' ? timestamp : Number(requireText(timestamp, /^\d{1,12}$/));
  if (!Number.isSafeInteger(timestampMs) || timestampMs < 0) throw violation('timestamp must be a time in ms');
  return { event: 'media', mulaw, timestampMs };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw violation('the message must be JSON');
  }
}

function requireObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw violation('an object is missing');
  return value as Record<string, unknown>;
}

function requireText(value: unknown, pattern: RegExp): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw violation('a text is missing or malformed');
  return value;
}

function violation(message: string): ProtocolViolation {
  return new ProtocolViolation(1007, message);
}
