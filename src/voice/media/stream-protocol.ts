import { anyCarriers } from '../../kernel/carrier-identifiers.js';
import { FRAME_BYTES } from '../session/playback.js';

/** What the carrier tells over the media socket, after Twilio's Media Streams; numbers arrive as strings. */
export type CarrierMessage =
  | { event: 'connected' }
  /** `resumption`: the number that the TwiML gave the stream; 0 for a call's first. */
  | { event: 'start'; streamSid: string; carrierSid: string; isTelephoneAudio: boolean; resumption: number }
  | { event: 'media'; mulaw: Uint8Array; timestampMs: number }
  | { event: 'dtmf'; digit: string }
  | { event: 'mark'; name: string }
  | { event: 'stop' }
  /** An event of a later version of the protocol. */
  | { event: 'unknown' };

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

/** The longest chunk of audio that is taken in one message: 200 ms. */
const MAX_MEDIA_BYTES = FRAME_BYTES * 10;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const CALL_SID = new RegExp(anyCarriers('call'));
const STREAM_SID = new RegExp(anyCarriers('stream'));

/**
 * Reads one text frame.
 * @throws ProtocolViolation (1007) when it is no JSON or not of the protocol's shape
 */
export function parseCarrierMessage(text: string): CarrierMessage {
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

/** @param streamSid as `parseCarrierMessage` lets it through: letters and digits, which need no escape */
export function mediaMessage(streamSid: string, frame: Uint8Array): string {
  const payload = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('base64');
  return `{"event":"media","streamSid":"${streamSid}","media":{"payload":"${payload}"}}`;
}

export function markMessage(streamSid: string, name: string): string {
  return JSON.stringify({ event: 'mark', streamSid, mark: { name } });
}

export function clearMessage(streamSid: string): string {
  return JSON.stringify({ event: 'clear', streamSid });
}

function parseStart(start: Record<string, unknown>): CarrierMessage {
  const format = asRecord(start['mediaFormat']);
  return {
    event: 'start',
    streamSid: asText(start['streamSid'], STREAM_SID),
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

function parseMedia(media: Record<string, unknown>): CarrierMessage {
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
