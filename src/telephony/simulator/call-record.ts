import { randomBytes } from 'node:crypto';
import type { CarrierAccount } from '../../platform/config/config.js';
import type { CallProgress } from './call-progress.js';
import type { ScriptStep } from './remote-parties/port.js';

/** One request that the carrier sent to the customer's server, and the result. `ms` is the duration of the request. */
export interface RequestLog {
  at: string;
  purpose: 'twiml' | 'fallback' | 'callback';
  method: string;
  url: string;
  params: Record<string, string>;
  attempt: number;
  /** HTTP status of the response; absent without a response. */
  status?: number;
  error?: string;
  ms: number;
  body?: string;
}

/** A log of one media stream, as the carrier sees it. */
export interface StreamLog {
  streamSid: string;
  url: string;
  at: string;
  /** Number of frames sent to the customer's server, and of media messages received from it. */
  framesSent: number;
  mediaReceived: number;
  bytesReceived: number;
  framesDiscarded: number;
  /** Number of frames from the remote party that the simulated network lost. */
  framesLost: number;
  /** Frames of silence that were not sent. */
  framesOmitted: number;
  clears: number;
  marks: { name: string; at: string }[];
  end?: string;
}

/** A number to which `<Dial>` connected the call. */
export interface DialLog {
  /** The call to the number; absent if the number is invalid. */
  sid?: string;
  to: string;
  at: string;
  status: 'completed' | 'busy' | 'no-answer' | 'failed' | 'canceled';
  /** Number of whole seconds for which the two parties were connected. */
  seconds: number;
}

/** The carrier's record of a call, with a log of its requests and streams. */
export interface CallRecord extends CallProgress {
  readonly sid: string;
  readonly account: CarrierAccount;
  readonly to: string;
  readonly from: string;
  readonly direction: 'outbound-api' | 'inbound' | 'outbound-dial';
  /** The call whose `<Dial>` placed this one. */
  readonly parentCallSid?: string;
  readonly forwardedFrom?: string;
  readonly scenario: string;
  readonly createdAt: number;
  /** How long the call waits in the queue before it is dialed, in ms. */
  readonly queuedMs: number;
  /** When the list of calls shows the call, in ms since the epoch. Twilio's list is eventually consistent. */
  readonly listedAt: number;
  requests: RequestLog[];
  streams: StreamLog[];
  dials: DialLog[];
  /** The steps of the script that the simulated person has taken. */
  script: ScriptStep[];
  errors: { at: string; code: number; message: string }[];
  twiml: string[];
}

/** Maximum entries in each log of a call. */
const MAX_LOG_ENTRIES = 500;

export function newSid(prefix: 'CA' | 'MZ' | 'PN'): string {
  return prefix + randomBytes(16).toString('hex');
}

export function newCallRecord(
  facts: Pick<CallRecord, 'account' | 'to' | 'from' | 'direction' | 'scenario'> &
    Partial<Pick<CallRecord, 'forwardedFrom' | 'timeLimitSeconds' | 'parentCallSid' | 'queuedMs'>>,
  listedAfterMs = 0,
): CallRecord {
  const now = Date.now();
  return {
    sid: newSid('CA'),
    queuedMs: 0,
    ...facts,
    createdAt: now,
    listedAt: now + listedAfterMs,
    updatedAt: now,
    status: 'queued',
    requests: [],
    streams: [],
    dials: [],
    script: [],
    errors: [],
    twiml: [],
  };
}

/** Whole seconds from the answer to the end, rounded up; at least 1 for an answered call. */
export function durationSeconds(call: CallRecord): number {
  if (call.answeredAt === undefined || call.endedAt === undefined) return 0;
  return Math.max(1, Math.ceil((call.endedAt - call.answeredAt) / 1_000));
}

export function addLog<T>(log: T[], entry: T): void {
  if (log.length < MAX_LOG_ENTRIES) log.push(entry);
}

/** Drops what was logged about a call, apart from its errors. */
export function clearLogs(call: CallRecord): void {
  for (const log of [call.requests, call.streams, call.dials, call.script, call.twiml]) log.length = 0;
}

export function logCallError(call: CallRecord, code: number, message: string): void {
  addLog(call.errors, { at: new Date().toISOString(), code, message });
}

/** Formats a time (ms since the epoch) like Twilio: `Sat, 21 Nov 2026 07:51:08 +0000`. */
export function rfc2822(ms: number): string {
  return new Date(ms).toUTCString().replace('GMT', '+0000');
}

const SUBRESOURCES = {
  notifications: 'Notifications',
  recordings: 'Recordings',
  payments: 'Payments',
  events: 'Events',
  siprec: 'Siprec',
  streams: 'Streams',
  transcriptions: 'Transcriptions',
  user_defined_messages: 'UserDefinedMessages',
  user_defined_message_subscriptions: 'UserDefinedMessageSubscriptions',
};

/**
 * Builds Twilio's REST resource of a call, with its 26 keys. Every value is a string or null, except
 * `subresource_uris`.
 */
export function toTwilioResource(call: CallRecord): Record<string, unknown> {
  const base = `/2010-04-01/Accounts/${call.account.carrierAccountId}/Calls/${call.sid}`;
  const time = (ms: number | undefined) => (ms === undefined ? null : rfc2822(ms));
  return {
    sid: call.sid,
    account_sid: call.account.carrierAccountId,
    to: call.to,
    to_formatted: formatted(call.to),
    from: call.from,
    from_formatted: formatted(call.from),
    phone_number_sid: `PN${'0'.repeat(32)}`,
    parent_call_sid: call.parentCallSid ?? null,
    status: call.status,
    direction: call.direction,
    answered_by: call.answeredBy ?? null,
    start_time: time(call.startedAt),
    end_time: time(call.endedAt),
    duration: call.endedAt === undefined ? null : String(durationSeconds(call)),
    price: null,
    price_unit: 'USD',
    queue_time: String(call.queuedMs),
    api_version: '2010-04-01',
    forwarded_from: call.forwardedFrom ?? null,
    caller_name: null,
    group_sid: null,
    trunk_sid: null,
    date_created: rfc2822(call.createdAt),
    date_updated: rfc2822(call.updatedAt),
    uri: `${base}.json`,
    subresource_uris: Object.fromEntries(
      Object.entries(SUBRESOURCES).map(([key, name]) => [key, `${base}/${name}.json`]),
    ),
  };
}

function formatted(number: string): string {
  const northAmerican = /^\+1(\d{3})(\d{3})(\d{4})$/.exec(number);
  return northAmerican ? `(${northAmerican[1]}) ${northAmerican[2]}-${northAmerican[3]}` : number;
}
