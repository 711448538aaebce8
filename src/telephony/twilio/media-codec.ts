import { MAX_MEDIA_BYTES, ProtocolViolation, type MediaCodec, type MediaEvent } from '../media.js';
import { CALL_SID, STREAM_SID } from './identifiers.js';

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Twilio Media Streams: JSON text frames, audio in base64, numbers as strings. */
export function createTwilioCodec(): MediaCodec {
  let streamSid = '';
  return {
    decode(data, isBinary, take) {
      if (isBinary) throw new ProtocolViolation(1003, 'binary frames are not understood');
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
  const message = asRecord(parseJson(text));
  switch (message['event']) {
    case 'connected':
    case 'stop':
      return { event: message['event'] };
    case 'start':
      return parseStart(asRecord(message['start']));
    case 'media':
      return parseMedia(asRecord(message['media']));
    case 'dtmf':
      return { event: 'dtmf', digit: asText(asRecord(message['dtmf'])['digit'], /^[0-9A-D*#]$/) };
    case 'mark':
      return { event: 'mark', name: asText(asRecord(message['mark'])['name'], /^.{1,128}$/s) };
    default:
      asText(message['event'], /^.{1,64}$/);
      return { event: 'unknown' };
  }
}

/** @param streamSid validated by `parseCarrierMessage`: letters and digits, so no escaping is needed */
function mediaMessage(streamSid: string, frame: Uint8Array): string {
  const payload = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('base64');
  return `{"event":"media","streamSid":"${streamSid}","media":{"payload":"${payload}"}}`;
}

function parseStart(start: Record<string, unknown>): MediaEvent {
  const format = asRecord(start['mediaFormat']);
  return {
    event: 'start',
    streamId: asText(start['streamSid'], STREAM_SID),
    carrierSid: asText(start['callSid'], CALL_SID),
    isTelephoneAudio:
      format['encoding'] === 'audio/x-mulaw' &&
      Number(format['sampleRate']) === 8_000 &&
      Number(format['channels']) === 1,
    resumption: parseResumption(start['customParameters']),
  };
}

function parseResumption(parameters: unknown): number {
  const number = parameters === undefined ? undefined : asRecord(parameters)['resumption'];
  return number === undefined ? 0 : Number(asText(number, /^[1-9]\d{0,2}$/));
}

function parseMedia(media: Record<string, unknown>): MediaEvent {
  const payload = asText(media['payload'], BASE64);
  const mulaw = Buffer.from(payload, 'base64');
  if (payload.length % 4 !== 0 || mulaw.length > MAX_MEDIA_BYTES)
    throw violation('the audio is not a short base64 text');
  const timestamp = media['timestamp'];
  const timestampMs = typeof timestamp === 'number' ? timestamp : Number(asText(timestamp, /^\d{1,12}$/));
  if (!Number.isSafeInteger(timestampMs) || timestampMs < 0) throw violation('the timestamp is not a time');
  return { event: 'media', mulaw, timestampMs };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw violation('not JSON');
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw violation('an object is missing');
  return value as Record<string, unknown>;
}

function asText(value: unknown, pattern: RegExp): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw violation('a text is missing or malformed');
  return value;
}

function violation(message: string): ProtocolViolation {
  return new ProtocolViolation(1007, message);
}
