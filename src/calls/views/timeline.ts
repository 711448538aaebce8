import { PROVIDER_STAGES } from '../../kernel/conversation/provider-stages.js';
import type { CallMoney } from '../../billing/call-money.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import type { CarrierEventDocument } from '../../telephony/carrier-event-model.js';
import type { ResultHead } from '../../voice/results/conversation-results.js';
import type { StoredFailure } from '../../voice/results/model.js';
import type { WebhookAttemptDocument } from '../../webhooks/model.js';
import type { StoredChange } from '../call-model.js';
import type { TimelineEvent } from './schemas.js';

const STAGES: Record<StoredFailure['part'], string> = {
  ...PROVIDER_STAGES,
  realtime: 'realtime',
};

type Details = NonNullable<TimelineEvent['details']>;

/** The records that a timeline is made from. */
export interface TimelineRecords {
  call: { createdAt: Date; erasedAt?: Date; changes?: readonly StoredChange[] };
  request: { unknownFields?: readonly string[] } | null;
  result: Pick<ResultHead, 'startedAt' | 'endedAt' | 'endReason' | 'served' | 'failures'> | null;
  carrierEvents: readonly CarrierEventDocument[];
  money: CallMoney;
  attempts: readonly WebhookAttemptDocument[];
}

/** An event, and the time by which it is ordered. */
interface Placed {
  event: TimelineEvent;
  order: number;
}

/** Returns the events of a call, each after those that led to it. */
export function timelineOf({
  call,
  request,
  result,
  carrierEvents,
  money,
  attempts,
}: TimelineRecords): TimelineEvent[] {
  const requested = event(call.createdAt, 'call', 'requested');
  const own = [
    ...(call.erasedAt ? [] : unknownFieldsIn(call, request)),
    ...(call.changes ?? []).map(changeEvent),
    ...(result === null ? [] : mediaEvents(result)),
    ...moneyEvents(money),
    ...attempts.map(attemptEvent),
  ];
  const placed = [
    ...own.map((each) => ({ event: each, order: Date.parse(each.at) })),
    ...placeCarrierEvents(carrierEvents),
  ];
  return [requested, ...placed.toSorted(compare).map((each) => each.event)];
}

/** The sources of events, each after those whose events are its cause, for events of the same time. */
const CAUSES: readonly TimelineEvent['source'][] = ['carrier', 'call', 'media', 'money', 'webhook'];

/** The sort is stable, so the carrier's events, and others of a source without a number, keep the order that they have. */
function compare({ event: a, order: first }: Placed, { event: b, order: second }: Placed): number {
  const bySource = first - second || CAUSES.indexOf(a.source) - CAUSES.indexOf(b.source);
  return bySource || (a.source === 'carrier' ? 0 : (a.sequence ?? 0) - (b.sequence ?? 0));
}

/** The fields of the request that were ignored, because the interface does not know them. */
function unknownFieldsIn({ createdAt }: TimelineRecords['call'], request: TimelineRecords['request']): TimelineEvent[] {
  const names = request?.unknownFields ?? [];
  return names.length === 0
    ? []
    : [event(createdAt, 'call', 'unknown_fields_ignored', { details: { fields: names.join(', ') } })];
}

/**
 * Places the carrier's events among ours. Its clock reports whole seconds, rounded down, so an event took place up to a
 * second later, but before we received it. Its sequence numbers decide between its own events.
 */
function placeCarrierEvents(events: readonly CarrierEventDocument[]): Placed[] {
  const byTime = events.map((each) => ({ each, order: orderOf(each) })).toSorted((a, b) => a.order - b.order);
  // Events without a number keep their places. Those with one share the others in the order of their numbers.
  const numbered = byTime
    .filter(({ each }) => each.sequence !== undefined)
    .toSorted((a, b) => (a.each.sequence ?? 0) - (b.each.sequence ?? 0))
    .values();
  let latest = 0;
  return byTime.map((placed) => {
    const { each, order } = placed.each.sequence === undefined ? placed : (numbered.next().value ?? placed);
    latest = Math.max(latest, order);
    return { event: carrierEvent(each), order: latest };
  });
}

const CARRIER_CLOCK_MS = 1_000;

function orderOf({ at, createdAt }: CarrierEventDocument): number {
  return at === undefined ? createdAt.getTime() : Math.min(at.getTime() + CARRIER_CLOCK_MS - 1, createdAt.getTime());
}

function carrierEvent(from: CarrierEventDocument): TimelineEvent {
  return event(from.at ?? from.createdAt, 'carrier', from.status, {
    sequence: from.sequence,
    details: {
      received_at: from.createdAt.toISOString(),
      duration_seconds: from.durationSeconds,
      sip_code: from.sipCode,
      answered_by: from.answeredBy,
      error_code: from.errorCode,
      reason: from.reason,
      fault: from.isOperatorFault === true ? 'operator' : undefined,
    },
  });
}

function mediaEvents(result: NonNullable<TimelineRecords['result']>): TimelineEvent[] {
  const { startedAt, endedAt, endReason, failures = [] } = result;
  return [
    event(startedAt, 'media', 'stream_started'),
    ...switchesIn(result),
    ...(endedAt === undefined ? [] : [event(endedAt, 'media', 'stream_ended', { details: { reason: endReason } })]),
    ...failures.map(failureEvent),
  ];
}

function moneyEvents({ windows, settlement }: CallMoney): TimelineEvent[] {
  const holds = windows.map(({ at, refusal, window, heldSeconds }) =>
    event(at, 'money', refusal === undefined ? 'hold' : 'hold_refused', {
      details: { window, seconds: heldSeconds, refusal },
    }),
  );
  if (!settlement) return holds;
  const details = { billed_micros: settlement.billedMicros, estimated: settlement.estimated };
  return [...holds, event(settlement.at, 'money', 'settlement', { details })];
}

function attemptEvent({ startedAt, number, outcome, httpStatus, error }: WebhookAttemptDocument): TimelineEvent {
  return event(startedAt, 'webhook', 'attempt', {
    sequence: number,
    details: { outcome: outcome ?? 'under_way', http_status: httpStatus, error },
  });
}

/** The times at which another provider of a stage took over, or an alternative began instead of the first one. */
function switchesIn({ startedAt, served = [] }: NonNullable<TimelineRecords['result']>): TimelineEvent[] {
  return served.flatMap(({ stage, provider, model, number, fromMs }, index) => {
    const before = served.slice(0, index);
    const continuesRealtime = stage === 'llm' && before.some((each) => each.stage === 'realtime');
    const isSwitch = number > 1 || continuesRealtime || before.some((each) => each.stage === stage);
    const at = new Date(startedAt.getTime() + fromMs);
    return isSwitch ? [event(at, 'media', 'provider_switched', { details: { stage, provider, model, number } })] : [];
  });
}

function changeEvent({ sequence, at, status, endReason, waitingFor, endsAfterSeconds, erased }: StoredChange) {
  const name = erased ? 'erased' : (status ?? (endsAfterSeconds === undefined ? 'result' : 'end_foreseen'));
  return event(at, 'call', name, {
    sequence,
    details: { end_reason: endReason, waiting_for: waitingFor, ends_after_seconds: endsAfterSeconds ?? undefined },
  });
}

function failureEvent({ at, part, what, provider, status, code, requestId, message }: StoredFailure): TimelineEvent {
  const details = { stage: STAGES[part], reason: what, provider, status, code, request_id: requestId, message };
  return event(at, 'media', 'provider_failed', { details });
}

function event(
  at: Date,
  source: TimelineEvent['source'],
  name: string,
  more: { sequence?: number | undefined; details?: Record<string, Details[string] | undefined> } = {},
): TimelineEvent {
  const details = omitUndefined(more.details ?? {}) as Details;
  return {
    at: at.toISOString(),
    source,
    event: name,
    ...(more.sequence === undefined ? {} : { sequence: more.sequence }),
    ...(Object.keys(details).length > 0 ? { details } : {}),
  };
}
