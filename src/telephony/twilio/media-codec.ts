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
  const message = requireObject(parseJson(text), 'the message');
  switch (message['event']) {
    case 'connected':
    case 'stop':
      return { event: message['event'] };
    case 'start':
      return parseStart(requireObject(message['start'], 'start'));
    case 'media':
      return parseMedia(requireObject(message['media'], 'media'));
    case 'dtmf':
      return {
        event: 'dtmf',
        digit: requireText(requireObject(message['dtmf'], 'dtmf')['digit'], 'dtmf.digit', /^[0-9A-D*#]$/),
      };
    case 'mark':
      return {
        event: 'mark',
        name: requireText(requireObject(message['mark'], 'mark')['name'], 'mark.name', /^.{1,128}$/s),
      };
    default:
      requireText(message['event'], 'event', /^.{1,64}$/);
      return { event: 'unknown' };
  }
}

/** @param streamSid validated by `parseCarrierMessage`; it has only letters and digits, so it needs no escaping */
function mediaMessage(streamSid: string, frame: Uint8Array): string {
  const payload = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('base64');
  return `{"event":"media","streamSid":"${streamSid}","media":{"payload":"${payload}"}}`;
}

function parseStart(start: Record<string, unknown>): MediaEvent {
  const format = requireObject(start['mediaFormat'], 'start.mediaFormat');
  return {
    event: 'start',
    streamId: requireText(start['streamSid'], 'start.streamSid', STREAM_SID),
    carrierSid: requireText(start['callSid'], 'start.callSid', CALL_SID),
    isTelephoneAudio:
      format['encoding'] === 'audio/x-mulaw' &&
      Number(format['sampleRate']) === 8_000 &&
      Number(format['channels']) === 1,
    streamNumber: parseStreamNumber(start['customParameters']),
  };
}

function parseStreamNumber(parameters: unknown): number {
  if (parameters === undefined) return 0;
  const number = requireObject(parameters, 'start.customParameters')['resumption'];
  return number === undefined ? 0 : Number(requireText(number, 'customParameters.resumption', /^[1-9]\d{0,2}$/));
}

function parseMedia(media: Record<string, unknown>): MediaEvent {
  const payload = requireText(media['payload'], 'media.payload', BASE64);
  const mulaw = Buffer.from(payload, 'base64');
  if (payload.length % 4 !== 0 || mulaw.length > MAX_MEDIA_BYTES)
    throw violation(`media.payload must be valid base64 of at most ${MAX_MEDIA_BYTES} bytes of audio`);
  const timestamp = media['timestamp'];
  const timestampMs =
    typeof timestamp === 'number' ? timestamp : Number(requireText(timestamp, 'media.timestamp', /^\d{1,12}$/));
  if (!Number.isSafeInteger(timestampMs) || timestampMs < 0)
    throw violation('media.timestamp must be a whole number of ms');
  return { event: 'media', mulaw, timestampMs };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw violation('the message must be JSON');
  }
}

function requireObject(value: unknown, name: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw violation(`${name} must be an object`);
  return value as Record<string, unknown>;
}

function requireText(value: unknown, name: string, pattern: RegExp): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw violation(`${name} is missing or invalid`);
  return value;
}

function violation(message: string): ProtocolViolation {
  return new ProtocolViolation(1007, message);
}
