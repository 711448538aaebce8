import type { CallGateway } from '../gateway.js';
import type { Config } from '../../platform/config/config.js';
import type { AnsweredBy, CarrierFinalStatus } from '../../kernel/call-state.js';
import type { CarrierSignal } from '../../kernel/call-signals.js';
import type { CallRequests } from '../call-requests.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { CarrierEvents } from '../../telephony/carrier-events.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import type { ApiContext } from '../../platform/http/context.js';
import { single, type FormFields } from '../../platform/http/form.js';
import type { SignedRequests } from '../../platform/http/signed-requests.js';
import { answerCallback, calledRequest, type Callback } from './callback.js';

export interface StatusDeps {
  config: Config;
  signedRequests: SignedRequests;
  gateway: CallGateway;
  requests: CallRequests;
  bindings: CarrierBindings;
  carrierEvents: CarrierEvents;
  logger: Logger;
}

/**
 * Status callbacks. What cannot change a call (an unknown or finished one, another carrier call than the bound one, a
 * status in between) is answered 200 and ignored; only when we cannot tell is it 503, so that the carrier asks again.
 */
export function createCarrierStatus(deps: StatusDeps) {
  const { gateway, requests, bindings, carrierEvents, logger } = deps;

  async function signal(callId: string, callback: Callback): Promise<void> {
    const noted = remember(callId, callback);
    try {
      await tell(callId, callback);
    } finally {
      await noted;
    }
  }

  /** For people to read later: a callback that cannot be kept must still reach its call. */
  async function remember(callId: string, { form, carrierSid }: Callback): Promise<void> {
    try {
      await carrierEvents.add({ callId, carrierSid, ...carrierEventOf(form) });
    } catch (error) {
      logger.warn({ callId, err: error }, 'a callback of the carrier could not be kept for the timeline');
    }
  }

  async function tell(callId: string, { form, carrierSid }: Callback): Promise<void> {
    const told = carrierSignalOf(carrierSid, form, Date.now());
    if (told === undefined) return;
    // The carrier numbers its callbacks, and repeats of one have the same number.
    const sequence = single(form, 'SequenceNumber') ?? told.status ?? told.kind;
    await gateway.signalCarrier(callId, told, `${carrierSid}:${sequence}`);
  }

  async function note(callId: string, callback: Callback): Promise<void> {
    const request = await calledRequest(requests, callId, callback.mode);
    if (request === undefined || callback.carrierSid === '') return;
    const binding = await bindings.bind(callId, callback.carrierSid);
    if (binding.carrierSid === callback.carrierSid) await signal(callId, callback);
  }

  async function noteBySid(callback: Callback): Promise<void> {
    const binding = await bindings.findBySid(callback.carrierSid);
    if (binding === null || (await calledRequest(requests, binding._id, callback.mode)) === undefined) return;
    await signal(binding._id, callback);
  }

  return {
    /** POST /carrier/calls/{call_id}/status */
    outbound: (ctx: ApiContext, callId: string) => answerCallback(ctx, deps, (callback) => note(callId, callback)),
    /** POST /carrier/status */
    inbound: (ctx: ApiContext) => answerCallback(ctx, deps, noteBySid),
  };
}

const FINAL_STATUSES: ReadonlySet<string> = new Set<CarrierFinalStatus>([
  'completed',
  'busy',
  'failed',
  'no-answer',
  'canceled',
]);

/** What a callback tells the call; undefined for the statuses on the way, which change nothing. */
export function carrierSignalOf(carrierSid: string, form: FormFields, now: number): CarrierSignal | undefined {
  const status = single(form, 'CallStatus') ?? '';
  const told = { carrierSid, at: timeOf(single(form, 'Timestamp'), now), ...answeredByOf(single(form, 'AnsweredBy')) };
  if (status === 'in-progress') return { ...told, kind: 'answered' };
  if (!isFinalStatus(status)) return undefined;
  const durationSeconds = wholeNumber(single(form, 'CallDuration'));
  const sipCode = wholeNumber(single(form, 'SipResponseCode'));
  return {
    ...told,
    kind: 'ended',
    status,
    ...(durationSeconds === undefined ? {} : { durationSeconds }),
    ...(sipCode === undefined ? {} : { sipCode }),
  };
}

function carrierEventOf(form: FormFields) {
  const timestamp = timeOf(single(form, 'Timestamp'), Number.NaN);
  const facts = {
    sequence: wholeNumber(single(form, 'SequenceNumber')),
    at: Number.isNaN(timestamp) ? undefined : new Date(timestamp),
    durationSeconds: wholeNumber(single(form, 'CallDuration')),
    sipCode: wholeNumber(single(form, 'SipResponseCode')),
    answeredBy: single(form, 'AnsweredBy')?.slice(0, 40),
  };
  const known = Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== undefined && fact !== ''));
  return { status: (single(form, 'CallStatus') ?? '').slice(0, 40) || 'unknown', ...known };
}

function isFinalStatus(status: string): status is CarrierFinalStatus {
  return FINAL_STATUSES.has(status);
}

function timeOf(timestamp: string | undefined, now: number): number {
  const time = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(time) ? now : time;
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Who answered, as the carrier's detection of answering machines calls them. */
export function answeredByOf(text: string | undefined): { answeredBy?: AnsweredBy } {
  if (text === undefined || text === '') return {};
  if (text === 'human') return { answeredBy: 'human' };
  return { answeredBy: text.startsWith('machine') || text === 'fax' ? 'voicemail' : 'unknown' };
}
