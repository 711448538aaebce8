import type { OpenAiRealtimeSettings } from '../../../platform/config/config.js';
import type { Logger } from '../../../platform/telemetry/logger.js';
import type { SessionEventBody } from '../../session/reducer/events.js';
import { isReplyRunning, type SessionState } from '../../session/reducer/state.js';
import type { FailureReport } from '../../models/failure-report.js';
import { isOfAllCalls } from '../chain/blame.js';
import type { UsageMeter } from '../engine-usage.js';
import type { EngineSink } from '../port.js';
import type { ProviderTurns } from './provider-turns.js';
import type { RealtimeResponse, ServerEvent } from './protocol.js';
import type { LossKind, ProviderLink } from './provider-link.js';
import type { ResponseCosts } from './response-costs.js';
import type { DoneResponse, Purpose, Responses } from './responses.js';
import { PREFIX_MS } from './provider-settings.js';
import type { ProviderSpeech } from './speech.js';
import type { ToolCalls } from './tool-calls.js';
import { transcriptionUnitsOf } from './usage.js';

/** Delay before a failed response is requested again, in ms. */
const FAILED_RETRY_MS = 500;

type EventOf<T extends ServerEvent['type']> = Extract<ServerEvent, { type: T }>;
type SpeechEvent = EventOf<Extract<ServerEvent['type'], `response.output_audio${string}`>>;

interface ProviderEventsDeps {
  callId: string;
  settings: OpenAiRealtimeSettings;
  link: ProviderLink;
  responses: Responses;
  costs: ResponseCosts;
  speech: ProviderSpeech;
  turns: ProviderTurns;
  tools: ToolCalls;
  usage: UsageMeter;
  logger: Logger;
  now: () => number;
  dispatch: (what: SessionEventBody) => void;
  state: () => SessionState;
  showInterim: EngineSink['showInterim'];
  /** Reports a failure of the provider. */
  fail: (what: string, report: FailureReport, kind?: LossKind) => void;
}

/** Errors of events that crossed on the way, as when a reply ends while it is canceled. They are no failures. */
const CROSSINGS = [
  'conversation_already_has_active_response',
  'response_cancel_not_active',
  'input_audio_buffer_commit_empty',
];

/** Turns the provider's messages into session events. */
export function createProviderEvents(p: ProviderEventsDeps) {
  const { responses, speech, turns, tools, dispatch } = p;
  const outcomes = createOutcomes(p);
  const silenceMs = p.settings.turnDetection.type === 'server_vad' ? p.settings.turnDetection.silenceMs : 0;

  function onError({ error }: EventOf<'error'>): void {
    p.logger.warn({ callId: p.callId, type: error.type, code: error.code }, 'provider reported an error');
    if (!CROSSINGS.includes(error.code ?? '')) p.fail('the provider reported an error', p.link.reportOf(error));
    if (error.code !== 'conversation_already_has_active_response') return;
    // If the rejected response was not requested by us, the provider wanted to begin it by itself and will not try
    // again.
    if (!responses.onRejected()) dispatch({ type: 'reply_missed' });
  }

  /** Handles the items and transcripts of turns, which may arrive at any time, even after the end of the call. */
  function onTranscript(event: ServerEvent): void {
    if (event.type === 'conversation.item.input_audio_transcription.completed') {
      const units = transcriptionUnitsOf(event.usage ?? {});
      for (const [unit, count] of Object.entries(units)) p.usage.add(unit, count);
      turns.onTranscript(event.item_id, event.transcript);
    } else if (event.type === 'conversation.item.input_audio_transcription.delta') {
      const text = turns.onTranscriptPart(event.item_id, event.delta);
      p.showInterim('caller', () => text);
    } else if (event.type === 'conversation.item.input_audio_transcription.failed')
      turns.onTranscriptionFailed(event.item_id);
    else if (event.type === 'input_audio_buffer.committed') turns.committed(event.item_id);
  }

  function cancelCurrent(): void {
    const current = responses.current();
    if (current !== undefined) responses.cancel(current.purpose.id);
  }

  /** After the end of the call, handles only the cost of the last response and the caller's transcripts. */
  function onEventAfterEnd(event: ServerEvent): void {
    if (event.type === 'response.created') {
      responses.created(event.response);
      cancelCurrent();
    } else if (event.type === 'response.output_audio.delta') {
      responses.onAudio(event.response_id, Buffer.byteLength(event.delta, 'base64'));
    } else if (event.type === 'response.done') {
      p.costs.done(event.response);
      responses.done(event.response);
    } else if (event.type === 'error') onError(event);
    else onTranscript(event);
  }

  return {
    onEvent(event: ServerEvent): void {
      if (p.state().stopped) return onEventAfterEnd(event);
      switch (event.type) {
        case 'input_audio_buffer.speech_started':
          tools.onReplyCanceled();
          return turns.started(event.item_id, event.audio_start_ms + PREFIX_MS);
        case 'input_audio_buffer.speech_stopped':
          return turns.stopped(event.item_id, event.audio_end_ms - silenceMs);
        case 'response.created':
          if (!responses.created(event.response)) return undefined;
          tools.onReplyCanceled();
          return dispatch({ type: 'reply_begun', replyId: event.response.id });
        case 'response.output_audio.delta':
        case 'response.output_audio.done':
        case 'response.output_audio_transcript.delta':
        case 'response.output_audio_transcript.done':
          return onSpeech(p, event);
        case 'response.done':
          return outcomes.done(event.response);
        case 'error':
          return onError(event);
        default:
          return onTranscript(event);
      }
    },

    /**
     * Handles a lost connection: ends all items with the audio so far, and reports a sentence that was still requested
     * as failed.
     */
    forget(): void {
      speech.endAllItems();
      p.costs.addUnfinished();
      const phrase = responses.reset();
      if (phrase !== undefined) giveUp(p, phrase);
    },

    /** Gives up the session's last sentence, because the provider takes too long. */
    giveUpClosing(): void {
      const { purpose } = responses.current() ?? {};
      if (purpose === undefined) return;
      responses.cancel(purpose.id);
      giveUp(p, purpose);
    },

    /** Ends the call: cancels the current response. Its usage may still arrive. */
    stop(): void {
      outcomes.stop();
      cancelCurrent();
    },
  };
}

function onSpeech({ responses, speech, dispatch, now }: ProviderEventsDeps, event: SpeechEvent): void {
  // Transcripts may arrive after the end of their response. All other events of a canceled response are ignored.
  if (event.type === 'response.output_audio_transcript.done') return speech.onAllWords(event.item_id, event.transcript);
  const audio = event.type === 'response.output_audio.delta' ? Buffer.from(event.delta, 'base64') : undefined;
  const isFirst = audio !== undefined && audio.length > 0 && responses.onAudio(event.response_id, audio.length);
  const purpose = responses.purposeOf(event.response_id);
  if (purpose === undefined) return undefined;
  switch (event.type) {
    case 'response.output_audio.delta': {
      if (audio === undefined || audio.length === 0) return undefined;
      speech.onAudio(purpose, event, audio);
      if (isFirst && purpose.kind === 'reply') {
        dispatch({ type: 'reply_heard', replyId: purpose.id, times: { startedMs: now(), firstAudioMs: now() } });
      }
      return undefined;
    }
    case 'response.output_audio.done':
      return speech.onAudioDone(event.item_id);
    default:
      return speech.onWords(purpose, event.item_id, event.delta);
  }
}

/** Fails a reply or sentence that the provider will not finish. A reprompt is skipped without a failure. */
function giveUp({ dispatch, speech, state }: ProviderEventsDeps, { kind, id }: Purpose): void {
  const fault = { part: 'model', message: 'the provider is unavailable' } as const;
  if (kind === 'reply') return dispatch({ type: 'reply_failed', replyId: id, ...fault });
  const expected = state().playback.expected.find((item) => item.id === id);
  if (expected === undefined) return speech.endAllItems();
  if (expected.kind === 'reprompt') return dispatch({ type: 'item_whole', itemId: id });
  return dispatch({ type: 'item_failed', itemId: id, ...fault });
}

const isExpected = ({ playback }: SessionState, itemId: string) => playback.expected.some(({ id }) => id === itemId);

/** Handles finished responses: complete, empty or failed. */
function createOutcomes({ responses, costs, speech, tools, link, dispatch, state, fail }: ProviderEventsDeps) {
  const retryTimers = new Set<NodeJS.Timeout>();
  let failures = 0;
  let wasEmpty = false;

  /** Requests one more reply from a model that neither spoke nor called a tool; a second empty reply is accepted. */
  function retryEmptyReply({ status, output }: RealtimeResponse, hasAudio: boolean): void {
    const isEmpty = !hasAudio && output.every(({ type }) => type !== 'function_call');
    wasEmpty = isEmpty && !wasEmpty && status !== 'cancelled';
    if (wasEmpty && !isReplyRunning(state())) dispatch({ type: 'reply_wanted' });
  }

  function made(response: RealtimeResponse, done: DoneResponse): void {
    const { purpose, hasAudio } = done;
    if (purpose.kind === 'phrase') {
      // The item is still expected, so no audio has arrived for it. Items with audio were completed before.
      if (isExpected(state(), purpose.id)) dispatch({ type: 'item_whole', itemId: purpose.id });
      return;
    }
    tools.onReplyDone(response, done);
    dispatch({ type: 'reply_done', replyId: purpose.id });
    retryEmptyReply(response, hasAudio);
  }

  /** Requests the response once more; after a second failure in a row the provider counts as lost. */
  function failed(purpose: Purpose): void {
    failures += 1;
    if (failures > 1) return link.dropConnection('the provider failed to create a response', true);
    const timer = setTimeout(() => {
      retryTimers.delete(timer);
      const isNeeded = state().reply?.id === purpose.id || isExpected(state(), purpose.id);
      if (isNeeded) responses.request(purpose);
    }, FAILED_RETRY_MS);
    retryTimers.add(timer);
    return undefined;
  }

  return {
    done(response: RealtimeResponse): void {
      costs.done(response);
      speech.endAllItems();
      // If none is expected, the provider began one by itself and did not report its creation.
      const isExpectedNow = responses.current() !== undefined;
      const done = responses.done(response);
      if (response.status === 'failed') {
        if (done !== undefined || !isExpectedNow) {
          const { requestId = response.id, ...report } = link.reportOf(response.status_details ?? {});
          const kind = isOfAllCalls(report.code ?? '') ? 'broken' : 'rejected';
          fail('the provider failed to create a response', { ...report, requestId }, kind);
        }
        if (done !== undefined) failed(done.purpose);
        else if (!isExpectedNow) dispatch({ type: 'reply_missed' });
      } else {
        failures = 0;
        link.markHealthy();
        if (done !== undefined) made(response, done);
      }
      responses.next();
    },
    stop(): void {
      for (const timer of retryTimers) clearTimeout(timer);
    },
  };
}
