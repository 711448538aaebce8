import { CALL_EVENTS, type RecordedEvent } from '../call-progress.js';
import { InstructionError, type TwimlSource, type WebhookTarget } from './source.js';
import type { TwimlElement } from './twiml.js';

/** The parameters of `<Connect><Stream>`. */
export interface StreamRequest {
  url: string;
  customParameters: Record<string, string>;
}

/** The parameters of `<Dial>`. */
export interface DialVerb {
  number: string;
  ringSeconds: number;
  /** Seconds after which the two parties are disconnected. */
  limitSeconds: number;
  /** The number to call from; absent: that of the call. */
  callerId?: string;
  /** Where to send status callbacks of the call to the number, and for which events. */
  callbacks?: WebhookTarget & { events: readonly RecordedEvent[] };
}

/** A URL as written in a verb, possibly relative to the document's URL. */
export interface NextUrl {
  url: string;
  method: string | undefined;
}

/** A parsed verb. `action`: the URL of the instructions to follow afterwards, if the verb has one. */
export type Instruction =
  | { kind: 'stream'; request: StreamRequest; action?: NextUrl }
  | { kind: 'dial'; request: DialVerb; action?: NextUrl }
  | { kind: 'wait'; ms: number }
  | { kind: 'redirect'; to: NextUrl }
  | { kind: 'hangUp' }
  | { kind: 'reject' };

const MAX_SECONDS = 14_400;
const DIAL_RING_SECONDS = 30;
/** Simulated time to speak one character of `<Say>`. The text is not synthesized; a call has scripted audio only. */
const MS_PER_CHARACTER = 60;

/**
 * Parses one verb.
 * @param source where the document came from; relative URLs are resolved against it
 * @throws InstructionError
 */
export function readVerb(verb: TwimlElement, source: TwimlSource): Instruction {
  switch (verb.name) {
    case 'Connect':
      return { kind: 'stream', request: readStream(verb), ...readAction(verb) };
    case 'Dial':
      return { kind: 'dial', request: readDial(verb, source), ...readAction(verb) };
    case 'Say':
      return { kind: 'wait', ms: verb.text.trim().length * MS_PER_CHARACTER };
    case 'Pause':
      return { kind: 'wait', ms: readSeconds(verb, 'length', 1) * 1_000 };
    case 'Redirect':
      return { kind: 'redirect', to: { url: verb.text.trim(), method: verb.attributes['method'] } };
    case 'Hangup':
      return { kind: 'hangUp' };
    case 'Reject':
      return { kind: 'reject' };
    default:
      throw new InstructionError(12100, `<${verb.name}> is not a supported verb.`);
  }
}

/**
 * Builds the source for a URL in a verb. The call's fallback applies to it, too.
 * @param source where the document that contains the verb came from
 * @param extra form fields to send with the request
 * @throws InstructionError
 */
export function nextSource(next: NextUrl, source: TwimlSource, extra?: Record<string, string>): TwimlSource {
  return {
    kind: 'url',
    target: resolveTarget(next, source),
    ...(source.kind === 'url' && source.fallback !== undefined ? { fallback: source.fallback } : {}),
    ...(extra === undefined ? {} : { extra }),
  };
}

function readStream(verb: TwimlElement): StreamRequest {
  const stream = verb.children.find((child) => child.name === 'Stream');
  const url = stream?.attributes['url'];
  if (stream === undefined || url === undefined)
    throw new InstructionError(12100, '<Connect> must contain a <Stream> with the attribute url.');
  const customParameters = Object.fromEntries(
    stream.children
      .filter((child) => child.name === 'Parameter')
      .map(({ attributes }) => [attributes['name'] ?? '', attributes['value'] ?? '']),
  );
  return { url, customParameters };
}

function readDial(verb: TwimlElement, source: TwimlSource): DialVerb {
  const numbers = verb.children.filter((child) => child.name === 'Number');
  if (numbers.length > 1 || numbers.length < verb.children.length) {
    throw new InstructionError(12100, '<Dial> must contain a phone number or a single <Number>, and no other element.');
  }
  const number = (numbers[0] ?? verb).text.trim();
  if (number === '') throw new InstructionError(12100, '<Dial> must contain a phone number.');
  return {
    number,
    ringSeconds: readSeconds(verb, 'timeout', DIAL_RING_SECONDS),
    limitSeconds: readSeconds(verb, 'timeLimit', MAX_SECONDS),
    ...(verb.attributes['callerId'] === undefined ? {} : { callerId: verb.attributes['callerId'] }),
    ...legCallbacks(numbers[0], source),
  };
}

function readAction(verb: TwimlElement): { action?: NextUrl } {
  const { action, method } = verb.attributes;
  return action === undefined ? {} : { action: { url: action, method } };
}

/** Returns the status callbacks that `<Number>` requests: without `statusCallbackEvent`, only that of the end. */
function legCallbacks(number: TwimlElement | undefined, source: TwimlSource): Pick<DialVerb, 'callbacks'> {
  const { statusCallback, statusCallbackEvent, statusCallbackMethod } = number?.attributes ?? {};
  if (statusCallback === undefined) return {};
  const wanted = (statusCallbackEvent ?? 'completed').split(/\s+/);
  const events = CALL_EVENTS.filter((event) => wanted.includes(event));
  return { callbacks: { ...resolveTarget({ url: statusCallback, method: statusCallbackMethod }, source), events } };
}

function resolveTarget({ url, method }: NextUrl, source: TwimlSource): WebhookTarget {
  const base = source.kind === 'url' ? source.target.url : undefined;
  try {
    return { url: absolute(url, base), method: method?.toUpperCase() === 'GET' ? 'GET' : 'POST' };
  } catch {
    throw new InstructionError(12100, `The URL of a verb is invalid: ${url}.`);
  }
}

/** Resolves a URL. Keeps an absolute URL unchanged, because its exact text is signed. */
function absolute(url: string, base: string | undefined): string {
  const resolved = new URL(url === '' ? (base ?? '') : url, base);
  return /^https?:\/\//i.test(url) ? url : resolved.toString();
}

function readSeconds(verb: TwimlElement, attribute: string, standard: number): number {
  const seconds = Number(verb.attributes[attribute] ?? standard);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, MAX_SECONDS) : standard;
}
