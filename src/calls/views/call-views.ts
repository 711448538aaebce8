import { PROVIDER_STAGES } from '../../kernel/conversation/provider-stages.js';
import { attemptView } from '../../webhooks/attempt-view.js';
import type {
  Call,
  CallProvider,
  CallSummary,
  CallWaveform,
  ConversationSoFar,
  CostWindow,
  Trace,
  LatencyStage,
  Transcript,
} from './schemas.js';
import { AGENT_FIELD_LIST } from '../../agents/agent-definition.js';
import { rateOf, usdFromMicros, usdPerMinute } from '../../kernel/money.js';
import type { CallMoney, HeldWindow } from '../../billing/call-money.js';
import type { BriefCall, WholeCall } from '../call-queries.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { CarrierEventDocument } from '../../telephony/carrier-event-model.js';
import type { InterimWords } from '../../voice/live-words/model.js';
import type { Waveform } from '../../voice/recordings/waveforms.js';
import type { EngineTrace, LatestConversation, ResultHead } from '../../voice/results/conversation-results.js';
import type { ConversationResultDocument, StoredProvider, StoredTurn } from '../../voice/results/model.js';
import type { WebhookAttemptDocument } from '../../webhooks/model.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { timelineOf } from './timeline.js';

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
      storage: storageOf(request),
      redact: request?.agent.redact?.length ? request.agent.redact : undefined,
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

/**
 * The last turns of a call in progress, its interim words and the values extracted so far.
 * @param most maximum turns; the one before them only tells how long the first response took
 */
export function latestView(
  { turns, values }: LatestConversation,
  interim: readonly InterimWords[],
  most: number,
): ConversationSoFar {
  // A turn of the transcript that began later contains the words.
  const isNew = ({ speaker, afterMs }: InterimWords) =>
    !turns.some((turn) => turn.speaker === speaker && turn.startMs > afterMs);
  return {
    turns: turnViews(turns).slice(-most),
    interim: interim.filter(isNew).map(({ speaker, text }) => ({ speaker, text })),
    output_parameters: values ?? '{}',
  };
}

export function transcriptView(callId: string, result: Pick<ConversationResultDocument, 'turns'> | null): Transcript {
  const turns = turnsInOrder(result?.turns ?? []);
  return {
    call_id: callId,
    turns: turnViews(turns),
    text: turns.map(({ speaker, text }) => `${speaker}: ${text}`).join('\n'),
  };
}

/** The stages of a response, by the names under which the engines store them. */
const LATENCY_STAGES: Readonly<Record<string, LatencyStage['stage']>> = {
  ...PROVIDER_STAGES,
  pause: 'pause',
  own: 'own',
};

/** Converts what the engine did in a call. */
export function traceView(callId: string, trace: EngineTrace | null): Trace {
  return {
    call_id: callId,
    latencies: (trace?.latencies ?? []).map(({ atMs, totalMs, parts = {} }) => ({
      at_ms: Math.round(atMs),
      total_ms: Math.round(totalMs),
      stages: Object.entries(parts).flatMap(([name, ms]) => {
        const stage = LATENCY_STAGES[name];
        return stage === undefined ? [] : [{ stage, ms: Math.round(ms) }];
      }),
    })),
    tool_calls: inOrder(trace?.toolCalls ?? []).map(({ name, atMs, durationMs, ok, arguments: given, result }) => ({
      name,
      at_ms: atMs,
      duration_ms: durationMs,
      succeeded: ok,
      arguments: given,
      result,
    })),
  };
}

/** Sorts by start, because tool calls are stored as they finish, and some run at the same time. */
function inOrder(toolCalls: NonNullable<EngineTrace['toolCalls']>) {
  return toolCalls.toSorted((a, b) => a.atMs - b.atMs);
}

export function waveformView(callId: string, { durationMs, peaks }: Waveform): CallWaveform {
  const trackOf = (first: number) => Array.from(peaks).filter((_, index) => index % 2 === first);
  return { call_id: callId, duration_ms: durationMs, caller: trackOf(0), agent: trackOf(1) };
}

function turnViews(turns: readonly StoredTurn[]): Transcript['turns'] {
  return turns.map(({ speaker, text, startMs, endMs }, index) => {
    const before = turns[index - 1];
    const answers = speaker === 'agent' && before?.speaker === 'caller';
    return {
      speaker,
      text,
      start_ms: startMs,
      end_ms: endMs,
      ...(answers ? { latency_ms: Math.max(0, startMs - before.endMs) } : {}),
    };
  });
}

/** Sorts by start. Speech that is understood late is stored after turns that began later. */
function turnsInOrder(turns: readonly StoredTurn[]): StoredTurn[] {
  return turns.toSorted(
    (a, b) =>
      a.startMs - b.startMs || a.endMs - b.endMs || Number(a.speaker > b.speaker) - Number(a.speaker < b.speaker),
  );
}

/** The storage mode of a call; undefined if it is everything. */
function storageOf(request: CallRequestDocument | null) {
  const storage = request?.agent.storage;
  return storage === 'everything' ? undefined : storage;
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
