import type { CarrierSignal } from '../../kernel/call-signals.js';
import type { AnsweredBy, CarrierFinalStatus } from '../../kernel/call-state.js';
import { urlFrom } from '../../kernel/text.js';
import { readSingleField, type FormFields } from '../../platform/http/form.js';
import type { StatusReport } from '../callbacks.js';

const FINAL_STATUSES: ReadonlySet<string> = new Set<CarrierFinalStatus>([
  'completed',
  'busy',
  'failed',
  'no-answer',
  'canceled',
]);

/**
 * Converts the form of a status callback to a report.
 * @param now ms since the epoch
 */
export function parseStatusReport(carrierSid: string, form: FormFields, now: number): StatusReport {
  const signal = parseCarrierSignal(carrierSid, form, now);
  return {
    ...(signal === undefined ? {} : { signal }),
    record: toEventRecord(form),
  };
}

/**
 * Returns the signal for the call; undefined for intermediate statuses, which change nothing.
 * @param now the time of the event if the callback has no timestamp, ms since the epoch
 */
export function parseCarrierSignal(carrierSid: string, form: FormFields, now: number): CarrierSignal | undefined {
  const status = readSingleField(form, 'CallStatus') ?? '';
  const answeredBy = parseAnsweredBy(readSingleField(form, 'AnsweredBy'));
  const facts = {
    carrierSid,
    at: parseTime(readSingleField(form, 'Timestamp'), now),
    ...(answeredBy === undefined ? {} : { answeredBy }),
  };
  if (status === 'in-progress') return { ...facts, kind: 'answered' };
  if (!isFinalStatus(status)) return undefined;
  const durationSeconds = wholeNumberOf(readSingleField(form, 'CallDuration'));
  const sipCode = wholeNumberOf(readSingleField(form, 'SipResponseCode'));
  return {
    ...facts,
    kind: 'ended',
    status,
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
    ...(sipCode === undefined ? {} : { sipCode }),
  };
}

function toEventRecord(form: FormFields): StatusReport['record'] {
  const timestamp = parseTime(readSingleField(form, 'Timestamp'), Number.NaN);
  const details = {
    sequence: wholeNumberOf(readSingleField(form, 'SequenceNumber')),
    at: Number.isNaN(timestamp) ? undefined : new Date(timestamp),
    durationSeconds: wholeNumberOf(readSingleField(form, 'CallDuration')),
    sipCode: wholeNumberOf(readSingleField(form, 'SipResponseCode')),
    answeredBy: readSingleField(form, 'AnsweredBy')?.slice(0, 40),
  };
  const known = Object.fromEntries(
    Object.entries(details).filter(([, detail]) => detail !== undefined && detail !== ''),
  );
  return { status: (readSingleField(form, 'CallStatus') ?? '').slice(0, 40) || 'unknown', ...known };
}

/** Maps the result of the carrier's answering machine detection; undefined when there is none. */
export function parseAnsweredBy(text: string | undefined): AnsweredBy | undefined {
  if (text === undefined || text === '') return undefined;
  if (text === 'human') return 'human';
  return text.startsWith('machine') || text === 'fax' ? 'voicemail' : 'unknown';
}

const ANSWERED: ReadonlySet<string> = new Set(['in-progress', 'completed']);

/**
 * Returns the carrier's id of the call whose transfer was answered; undefined when the callback reports something else.
 */
export function parseAnsweredTransfer(form: FormFields): string | undefined {
  // CallSid is the transfer's other leg; ParentCallSid is the call.
  return ANSWERED.has(readSingleField(form, 'CallStatus') ?? '')
    ? (readSingleField(form, 'ParentCallSid') ?? '')
    : undefined;
}

/** Whether the other party of a finished transfer had answered; undefined when there was no transfer. */
export function parseTransferConnected(form: FormFields): boolean | undefined {
  const status = readSingleField(form, 'DialCallStatus');
  return status === undefined ? undefined : status === 'completed' || status === 'answered';
}

/** The request for instructions that failed, as the carrier reports it to the fallback URL. */
export type FailedRequest = { kind: 'answer' } | { kind: 'after_stream'; streamNumber: number };

/** Returns which request failed. An error of the media stream (31xxx) counts as the end of the stream. */
export function parseFailedRequest(form: FormFields): FailedRequest {
  const { pathname, searchParams } = urlFrom(readSingleField(form, 'ErrorUrl') ?? '') ?? new URL('http://none/');
  if (pathname.endsWith('/after-stream')) {
    return { kind: 'after_stream', streamNumber: parseStreamNumber(searchParams.get('after')) };
  }
  const isStreamError = /^31\d{3}$/.test(readSingleField(form, 'ErrorCode') ?? '');
  return isStreamError ? { kind: 'after_stream', streamNumber: 0 } : { kind: 'answer' };
}

/**
 * Returns the stream number that we wrote into a URL, which is never wrapped: an update with a reused number would get an
 * earlier answer. Any other text returns 0, the number of the first stream.
 */
export function parseStreamNumber(text: string | string[] | null | undefined): number {
  return typeof text === 'string' && /^\d{1,3}$/.test(text) ? Number(text) : 0;
}

function isFinalStatus(status: string): status is CarrierFinalStatus {
  return FINAL_STATUSES.has(status);
}

function parseTime(timestamp: string | undefined, now: number): number {
  const time = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(time) ? now : time;
}

/** Parses a count or a time in seconds, as the carrier writes it. Anything else is undefined, such as a negative number. */
export function wholeNumberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
