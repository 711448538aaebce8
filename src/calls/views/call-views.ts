import { attemptView } from '../../webhooks/attempt-view.js';
import type {
  Call,
  CallProvider,
  CallSummary,
  ConversationSoFar,
  CostWindow,
  TimelineEvent,
  Transcript,
} from './schemas.js';
import { AGENT_FIELD_LIST } from '../../agents/agent-definition.js';
import { rateOf, usdFromMicros, usdPerMinute } from '../../kernel/money.js';
import type { CallMoney, HeldWindow } from '../../billing/call-money.js';
import type { StoredChange } from '../call-model.js';
import type { BriefCall, WholeCall } from '../call-queries.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { CarrierEventDocument } from '../../telephony/carrier-event-model.js';
import type { LatestConversation, ResultHead } from '../../voice/results/conversation-results.js';
import type { ConversationResultDocument, StoredFailure, StoredProvider } from '../../voice/results/model.js';
import type { WebhookAttemptDocument } from '../../webhooks/model.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';

/** All stored records about a call, the input of its views. */
export interface CallRecords {
  call: WholeCall;
  request: CallRequestDocument | null;
  /** The result without the turns, because the transcript has a separate view. */
  result: ResultHead | null;
  carrierEvents: readonly CarrierEventDocument[];
  money: CallMoney;
  /** The last webhook attempts, in order. */
  attempts: readonly WebhookAttemptDocument[];
}

export function callSummary(call: BriefCall): CallSummary {
  return {
    call_id: call._id,
    status: call.status,
    mode: call.mode,
    call_direction: call.direction,
    from_phone_number: call.fromPhoneNumber ?? '',
    to_phone_number: call.toPhoneNumber ?? '',
    agent_id: call.agentId,
    external_call_id: call.externalCallId ?? '',
    created_at: call.createdAt.toISOString(),
    updated_at: call.updatedAt.toISOString(),
    price_per_minute: usdPerMinute(rateOf(call)),
    has_recording: call.hasRecording === true,
    ...omitUndefined({
      end_reason: call.endReason,
      answered_by: call.answeredBy,
      agent_name: call.agentName,
      start_time: call.startTime?.toISOString(),
      end_time: call.endTime?.toISOString(),
      duration_seconds: call.durationSeconds,
      cost: call.costMicros === undefined ? undefined : usdFromMicros(call.costMicros),
      cost_micros: call.costMicros,
      summary: call.summary,
      waiting_for: call.waitingFor,
      ends_after_seconds: call.endsAfterSeconds,
      erased_at: call.erasedAt?.toISOString(),
    }),
  };
}

export function callView(records: CallRecords, publicBaseUrl: string): Call {
  const { call, request, result, money, attempts } = records;
  const shownRequest = call.erasedAt ? null : request;
  return {
    ...callSummary(call),
    input_parameters: call.inputParameters || '{}',
    ...omitUndefined({
      output_parameters: call.outputParameters,
      transcription: call.transcription,
      recording_url: call.hasRecording ? `${publicBaseUrl}/calls/${call._id}/recording` : undefined,
      instruction: shownRequest?.agent.instruction,
      voice: shownRequest?.agent.voice,
      language: shownRequest?.agent.language,
      webhook_url: shownRequest?.webhookUrl,
      max_duration_seconds: request?.maxDurationSeconds,
      engine: call.engine,
      ignored_settings: ignoredSettings(result?.ignoredSettings),
      served_by: result?.served?.map(servedProvider),
      carrier_sid: call.carrierSid,
    }),
    workflow_id: call._id,
    timeline: timelineOf(records),
    cost_windows: money.windows.map(costWindow),
    webhook_attempts: attempts.map(attemptView),
  };
}

/** The last turns of a call in progress, and the values extracted so far. */
export function latestView({ turns, values }: LatestConversation): ConversationSoFar {
  return {
    turns: turns.map(({ speaker, text, startMs, endMs }) => ({ speaker, text, start_ms: startMs, end_ms: endMs })),
    output_parameters: values ?? '{}',
  };
}

export function transcriptView(callId: string, result: Pick<ConversationResultDocument, 'turns'> | null): Transcript {
  const turns = result?.turns ?? [];
  return {
    call_id: callId,
    turns: turns.map(({ speaker, text, startMs, endMs }, index) => {
      const before = turns[index - 1];
      const answers = speaker === 'agent' && before?.speaker === 'caller';
      return {
        speaker,
        text,
        start_ms: startMs,
        end_ms: endMs,
        ...(answers ? { latency_ms: Math.max(0, startMs - before.endMs) } : {}),
      };
    }),
    text: turns.map(({ speaker, text }) => `${speaker}: ${text}`).join('\n'),
  };
}

/** The public names of settings that a provider did not have; undefined if there were none. */
function ignoredSettings(stored: readonly string[] = []): string[] | undefined {
  const names = AGENT_FIELD_LIST.filter((field) => stored.includes(field.stored)).map(({ name }) => name);
  return names.length === 0 ? undefined : names;
}

function servedProvider({ stage, provider, model, number, fromMs }: StoredProvider): CallProvider {
  return { stage, provider, model, number, from_ms: fromMs };
}

function costWindow(window: HeldWindow): CostWindow {
  return {
    window: window.window,
    at: window.at.toISOString(),
    held_seconds: window.heldSeconds,
    held_micros: window.heldMicros,
    ...omitUndefined({
      billed_seconds: window.billedSeconds,
      billed_micros: window.billedMicros,
      refusal: window.refusal,
    }),
  };
}

const STAGES: Record<StoredFailure['part'], string> = {
  recogniser: 'stt',
  model: 'llm',
  voice: 'tts',
  realtime: 'realtime',
};

type Details = NonNullable<TimelineEvent['details']>;

function timelineOf({ call, result, carrierEvents, money, attempts }: CallRecords): TimelineEvent[] {
  const events: TimelineEvent[] = [
    event(call.createdAt, 'call', 'requested'),
    ...(call.changes ?? []).map(changeEvent),
    ...carrierEvents.map((carrierEvent) =>
      event(carrierEvent.at ?? carrierEvent.createdAt, 'carrier', carrierEvent.status, {
        sequence: carrierEvent.sequence,
        details: {
          received_at: carrierEvent.createdAt.toISOString(),
          duration_seconds: carrierEvent.durationSeconds,
          sip_code: carrierEvent.sipCode,
          answered_by: carrierEvent.answeredBy,
          error_code: carrierEvent.errorCode,
          reason: carrierEvent.reason,
          fault: carrierEvent.isOperatorFault === true ? 'operator' : undefined,
        },
      }),
    ),
    ...(result ? [event(result.startedAt, 'media', 'stream_started')] : []),
    ...(result ? switchesIn(result) : []),
    ...(result?.endedAt
      ? [event(result.endedAt, 'media', 'stream_ended', { details: { reason: result.endReason } })]
      : []),
    ...(result?.failures ?? []).map(failureEvent),
    ...money.windows.map(({ at, refusal, ...window }) =>
      event(at, 'money', refusal === undefined ? 'hold' : 'hold_refused', {
        details: { window: window.window, seconds: window.heldSeconds, refusal },
      }),
    ),
    ...(money.settlement
      ? [
          event(money.settlement.at, 'money', 'settlement', {
            details: { billed_micros: money.settlement.billedMicros, estimated: money.settlement.estimated },
          }),
        ]
      : []),
    ...attempts.map(({ startedAt, number, outcome, httpStatus, error }) =>
      event(startedAt, 'webhook', 'attempt', {
        sequence: number,
        details: { outcome: outcome ?? 'under_way', http_status: httpStatus, error },
      }),
    ),
  ];
  // The sort is stable, so events of the same time keep the order in which they were added.
  return events.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

/** The times at which another provider of a stage took over, or an alternative began instead of the first one. */
function switchesIn({ startedAt, served = [] }: ResultHead): TimelineEvent[] {
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
