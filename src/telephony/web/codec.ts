import { byteCount, characterCount } from '../../kernel/text.js';
import { MAX_MEDIA_BYTES, ProtocolViolation, SUPERSEDED, type MediaCodec, type MediaEvent } from '../media.js';

/** Maximum size of a message. 200 ms of audio are about 2,200 bytes. */
export const MAX_MESSAGE_BYTES = 16_384;
/** Maximum characters of one typed turn. */
export const MAX_TEXT_LENGTH = 1_000;
/** Messages: about twice as many as a browser sends with frames of 20 ms, and 10 s of them after a connection that stalled. */
const MESSAGE_RATE: Rate = { perSecond: 100, burst: 1_000 };
/**
 * Audio in ms: as fast as it is spoken, with some tolerance for the browser's clock. More would keep the process busy, and
 * providers bill it.
 */
const AUDIO_RATE: Rate = { perSecond: 1_050, burst: 10_000 };
const BYTES_PER_MS = 8;
/** Typed turns: at most one per second, after a few at once. */
const TEXT_RATE: Rate = { perSecond: 1, burst: 10 };
/**
 * Typed text in UTF-8 bytes: faster than anybody types, and a pasted turn at once. Every turn is stored several times, and
 * test calls are free.
 */
const TEXT_BYTES_RATE: Rate = { perSecond: 30, burst: 4_096 };
/** Digits: faster than anybody presses keys, and a whole number pasted at once. */
const DIGIT_RATE: Rate = { perSecond: 20, burst: 64 };

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const TIMESTAMP_MAX = 4 * 24 * 3_600 * 1_000;

type Start = Extract<MediaEvent, { event: 'start' }>;
type Fields = Record<string, unknown>;
interface Rate {
  perSecond: number;
  burst: number;
}

/** The fields of each message from the browser. All are required, and there are no others. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  start: ['token'],
  media: ['timestamp', 'payload'],
  mark: ['name'],
  text: ['text'],
  digits: ['digits'],
  stop: [],
};

/** Why the server closes a socket, as its last message says. */
export type LegEndWord = 'call_ended' | 'reconnect' | 'replaced' | 'rejected' | 'failed';

/**
 * Creates the codec for one socket of a browser. All messages are JSON in text frames.
 * @param start the admitted stream, which the browser's `start` message stands for
 */
export function createWebCodec(start: Omit<Start, 'event'>): MediaCodec {
  const messages = createRateLimit(MESSAGE_RATE);
  const audio = createRateLimit(AUDIO_RATE);
  const texts = createRateLimit(TEXT_RATE);
  const textBytes = createRateLimit(TEXT_BYTES_RATE);
  const digits = createRateLimit(DIGIT_RATE);

  function audioOf(message: Fields): MediaEvent & { event: 'media' } {
    const media = mediaOf(message);
    if (!audio.take(media.mulaw.length / BYTES_PER_MS)) {
      throw new ProtocolViolation(1008, 'more audio than time');
    }
    return media;
  }

  function textOfTurn(message: Fields): MediaEvent {
    const text = typedTextOf(message);
    if (!texts.take()) throw new ProtocolViolation(1008, 'too many text messages');
    if (!textBytes.take(byteCount(text))) throw new ProtocolViolation(1008, 'more text than anybody types');
    return { event: 'text', text };
  }

  return {
    isCustomers: true,
    takesText: true,
    decode(data, isBinary, take) {
      if (!messages.take()) throw new ProtocolViolation(1008, 'too many messages');
      const message = messageOf(data, isBinary);
      switch (message['event']) {
        case 'start':
          tokenOf(message);
          return take({ event: 'start', ...start });
        case 'media':
          return take(audioOf(message));
        case 'mark':
          return take({ event: 'mark', name: textOf(message['name'], 'name', /^.{1,128}$/s) });
        case 'text':
          return take(textOfTurn(message));
        case 'digits':
          for (const digit of textOf(message['digits'], 'digits', /^[0-9*#]{1,32}$/)) {
            if (!digits.take()) throw new ProtocolViolation(1008, 'too many digits');
            take({ event: 'dtmf', digit });
          }
          return undefined;
        default:
          return take({ event: 'stop' });
      }
    },
    media(frame) {
      const payload = Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('base64');
      return `{"event":"media","payload":"${payload}"}`;
    },
    mark: (name) => JSON.stringify({ event: 'mark', name }),
    clear: () => '{"event":"clear"}',
    farewell: (code, reason) => encodeEnded(endWordOf(code, reason)),
  };
}

/** Returns the token of a browser's first message. @throws ProtocolViolation when it is not a `start` message */
export function parseStart(data: Buffer, isBinary: boolean): string {
  const message = messageOf(data, isBinary);
  if (message['event'] !== 'start') throw new ProtocolViolation(1008, 'the first message must be start');
  return tokenOf(message);
}

export function encodeReady(callId: string, reconnectToken: string): string {
  return JSON.stringify({ event: 'ready', call_id: callId, reconnect_token: reconnectToken });
}

export function encodeReconnectToken(token: string): string {
  return JSON.stringify({ event: 'reconnect_token', token });
}

export function encodeEnded(reason: LegEndWord): string {
  return JSON.stringify({ event: 'ended', reason });
}

/** The last word for a WebSocket close code of this server. */
function endWordOf(code: number, reason: string): LegEndWord {
  if (reason === SUPERSEDED) return 'replaced';
  if (code === 1000) return 'call_ended';
  if (code === 1001 || code === 1012 || code === 1013) return 'reconnect';
  return code === 1011 ? 'failed' : 'rejected';
}

function messageOf(data: Buffer, isBinary: boolean): Fields {
  if (isBinary) throw new ProtocolViolation(1003, 'messages must be text');
  if (data.length > MAX_MESSAGE_BYTES) throw new ProtocolViolation(1009, 'the message is too long');
  let message: unknown;
  try {
    message = JSON.parse(data.toString('utf8'));
  } catch {
    throw violation('the message must be JSON');
  }
  if (typeof message !== 'object' || message === null || Array.isArray(message)) {
    throw violation('the message must be an object');
  }
  const fields = message as Fields;
  const { event } = fields;
  const expected = typeof event === 'string' && Object.hasOwn(FIELDS, event) ? FIELDS[event] : undefined;
  if (expected === undefined) throw violation('event is missing or unknown');
  const isComplete = expected.every((name) => Object.hasOwn(fields, name));
  if (!isComplete || Object.keys(fields).length !== expected.length + 1) {
    throw violation(`${String(event)} must have exactly the fields ${['event', ...expected].join(', ')}`);
  }
  return fields;
}

function mediaOf({ timestamp, payload }: Fields): MediaEvent & { event: 'media' } {
  const base64 = textOf(payload, 'payload', BASE64);
  const mulaw = Buffer.from(base64, 'base64');
  if (base64.length % 4 !== 0 || mulaw.length > MAX_MEDIA_BYTES) {
    throw violation(`payload must be valid base64 of at most ${MAX_MEDIA_BYTES} bytes of audio`);
  }
  const isTime =
    typeof timestamp === 'number' && Number.isSafeInteger(timestamp) && timestamp >= 0 && timestamp <= TIMESTAMP_MAX;
  if (!isTime) throw violation('timestamp must be a whole number of ms');
  return { event: 'media', mulaw, timestampMs: timestamp };
}

function tokenOf({ token }: Fields): string {
  return textOf(token, 'token', /^[A-Za-z0-9_-]{1,128}$/);
}

function typedTextOf({ text }: Fields): string {
  // Control characters and lone surrogates have no place in words.
  const words = textOf(text, 'text', /^[^\p{Cc}\p{Cs}]+$/u).trim();
  if (words === '' || characterCount(words) > MAX_TEXT_LENGTH) {
    throw violation(`text must have 1 to ${MAX_TEXT_LENGTH} characters`);
  }
  return words;
}

function textOf(value: unknown, name: string, pattern: RegExp): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw violation(`${name} is missing or invalid`);
  return value;
}

function violation(message: string): ProtocolViolation {
  return new ProtocolViolation(1007, message);
}

function createRateLimit({ perSecond, burst }: Rate) {
  let tokens = burst;
  let at = performance.now();
  return {
    take(count = 1): boolean {
      const now = performance.now();
      tokens = Math.min(burst, tokens + ((now - at) / 1_000) * perSecond);
      at = now;
      if (tokens < count) return false;
      tokens -= count;
      return true;
    },
  };
}
