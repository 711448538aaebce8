import type { CarrierAccount } from '../../../platform/config/config.js';
import { isE164 } from '../../../kernel/phone-number.js';
import { CALL_EVENTS, type RecordedEvent } from '../call-progress.js';
import type { CallRecord } from '../call-record.js';
import type { TwimlSource, WebhookTarget } from '../instructions/source.js';
import type { CallPlan } from '../live-call.js';
import type { DetectionPlan } from '../media/machine-detection.js';
import { REST_ERRORS, type RestError } from './rest-errors.js';

const DEFAULT_RING_SECONDS = 60;
const MAX_RING_SECONDS = 600;
const MAX_TWIML_LENGTH = 4_000;
const DEFAULT_DETECTION_SECONDS = 30;
const MAX_DETECTION_SECONDS = 59;

/** Twilio's magic test numbers, with which customers test their error handling. */
const MAGIC_TO: Record<string, (number: string) => RestError> = {
  '+15005550001': REST_ERRORS.invalidPhone,
  '+15005550002': REST_ERRORS.unroutable,
  '+15005550003': REST_ERRORS.noPermission,
  '+15005550004': REST_ERRORS.blocked,
};
const MAGIC_FROM_VALID = '+15005550006';
const MAGIC_FROM_INVALID = '+15005550001';
const MAGIC_FROM = /^\+1500555\d{4}$/;

/**
 * Parses and validates a create request like Twilio.
 * @throws RestError
 */
export function readCreateRequest(account: CarrierAccount, form: URLSearchParams) {
  const { to, from } = readNumbers(form);
  const ringSeconds = wholeNumber(form, 'Timeout', REST_ERRORS.invalidTimeout, MAX_RING_SECONDS);
  const timeLimitSeconds = readTimeLimit(form);
  const source = readSource(form);
  if (source === undefined) throw REST_ERRORS.noUrl();
  const facts: Pick<CallRecord, 'account' | 'to' | 'from' | 'timeLimitSeconds'> = {
    account,
    to,
    from,
    ...(timeLimitSeconds === undefined ? {} : { timeLimitSeconds }),
  };
  const plan: CallPlan = {
    source,
    ringSeconds: ringSeconds ?? DEFAULT_RING_SECONDS,
    callbacks: readSubscription(form),
    ...readDetection(form),
  };
  return { facts, plan };
}

/**
 * Returns the source of the instructions in an update or create request; undefined when it has none. @throws RestError
 */
export function readSource(form: URLSearchParams): TwimlSource | undefined {
  const url = form.get('Url');
  const twiml = form.get('Twiml');
  if (url) {
    const fallback = form.get('FallbackUrl');
    return {
      kind: 'url',
      target: readTarget(form, url, 'Method', REST_ERRORS.noUrl),
      ...(fallback ? { fallback: readTarget(form, fallback, 'FallbackMethod', REST_ERRORS.noUrl) } : {}),
    };
  }
  if (!twiml) return undefined;
  if (twiml.length > MAX_TWIML_LENGTH) throw REST_ERRORS.invalidParameter('Twiml');
  return { kind: 'inline', twiml };
}

/** Twilio announced limits between one minute and 24 hours. How it answers others is not documented. */
const MIN_TIME_LIMIT_SECONDS = 60;
const MAX_TIME_LIMIT_SECONDS = 86_400;

/** Returns the time limit in seconds. @throws RestError */
export function readTimeLimit(form: URLSearchParams): number | undefined {
  const invalid = () => REST_ERRORS.invalidParameter('TimeLimit');
  const seconds = wholeNumber(form, 'TimeLimit', invalid, MAX_TIME_LIMIT_SECONDS);
  if (seconds !== undefined && seconds < MIN_TIME_LIMIT_SECONDS) throw invalid();
  return seconds;
}

function readNumbers(form: URLSearchParams): { to: string; from: string } {
  const to = form.get('To');
  const from = form.get('From');
  if (!to) throw REST_ERRORS.noTo();
  if (!from) throw REST_ERRORS.noFrom();
  const magic = MAGIC_TO[to];
  if (magic !== undefined) throw magic(to);
  if (!isE164(to) && !/^(client|sip):.+/.test(to)) throw REST_ERRORS.invalidTo(to);
  if (from === MAGIC_FROM_INVALID || !isE164(from)) throw REST_ERRORS.invalidFrom(from);
  if (MAGIC_FROM.test(from) && from !== MAGIC_FROM_VALID) throw REST_ERRORS.fromNotOurs(from);
  return { to, from };
}

function readSubscription(form: URLSearchParams): CallPlan['callbacks'] {
  const url = form.get('StatusCallback');
  const events = form.getAll('StatusCallbackEvent').flatMap((value) => value.split(/[\s,]+/).filter(Boolean));
  for (const event of events) if (!isCallEvent(event)) throw REST_ERRORS.invalidEvent();
  if (!url) return undefined;
  return {
    ...readTarget(form, url, 'StatusCallbackMethod', REST_ERRORS.invalidStatusCallback),
    events: events.length === 0 ? ['completed'] : events.filter(isCallEvent),
  };
}

/** Reads the parameters of answering machine detection. @throws RestError */
function readDetection(form: URLSearchParams): { detection?: DetectionPlan } {
  const mode = form.get('MachineDetection');
  if (!mode || mode === 'none') return {};
  if (mode !== 'Enable' && mode !== 'DetectMessageEnd') throw REST_ERRORS.invalidParameter('MachineDetection');
  const key = 'MachineDetectionTimeout';
  const timeoutSeconds = wholeNumber(form, key, () => REST_ERRORS.invalidParameter(key), MAX_DETECTION_SECONDS);
  const isAsync = form.get('AsyncAmd') === 'true';
  const url = form.get('AsyncAmdStatusCallback');
  return {
    detection: {
      until: mode === 'Enable' ? 'answer' : 'messageEnd',
      timeoutSeconds: timeoutSeconds ?? DEFAULT_DETECTION_SECONDS,
      ...(isAsync ? { target: asyncTarget(form, url) } : {}),
    },
  };
}

/** Returns the callback for asynchronous detection; rejects a request without a callback URL. @throws RestError */
function asyncTarget(form: URLSearchParams, url: string | null): WebhookTarget {
  const fault = () => REST_ERRORS.invalidParameter('AsyncAmdStatusCallback');
  if (!url) throw fault();
  return readTarget(form, url, 'AsyncAmdStatusCallbackMethod', fault);
}

function isCallEvent(value: string): value is RecordedEvent {
  return (CALL_EVENTS as readonly string[]).includes(value);
}

function readTarget(form: URLSearchParams, url: string, methodKey: string, fault: () => RestError): WebhookTarget {
  if (!isHttpUrl(url)) throw fault();
  const method = (form.get(methodKey) ?? 'POST').toUpperCase();
  if (method !== 'GET' && method !== 'POST') throw REST_ERRORS.invalidParameter(methodKey);
  return { url, method };
}

function isHttpUrl(text: string): boolean {
  try {
    return /^https?:$/.test(new URL(text).protocol);
  } catch {
    return false;
  }
}

function wholeNumber(form: URLSearchParams, key: string, fault: () => RestError, max: number): number | undefined {
  const text = form.get(key);
  if (text === null || text === '') return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max) throw fault();
  return value;
}
