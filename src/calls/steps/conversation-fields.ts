import type { MediaEnd } from '../../kernel/call-state.js';
import { keptBy, WITHHELD_SUMMARY, type StorageMode } from '../../kernel/conversation/storage.js';
import { NO_STREAM } from '../../kernel/resumption.js';
import { ledgerAccountId } from '../../kernel/ids.js';
import { lastSeenAt, lineOf } from '../../telephony/web/leg.js';
import type { WebLegs } from '../../telephony/web/legs.js';
import type { ConversationResults, ResultHead } from '../../voice/results/conversation-results.js';
import type { ConversationResultDocument } from '../../voice/results/model.js';
import type { CallDocument } from '../call-model.js';
import type { CallRequests } from '../call-requests.js';
import type { CallProjection, ProjectedChange } from '../projection.js';
import type { Recordings } from '../../voice/recordings/recordings.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { DroppedWords } from './dropped-words.js';

interface Deps {
  bindings: CarrierBindings;
  results: ConversationResults;
  projection: CallProjection;
  recordings: Recordings;
  requests: Pick<CallRequests, 'facts'>;
  droppedWords: DroppedWords;
  webLegs: Pick<WebLegs, 'find'>;
}

/** Reads the conversation's result, as stored by the media server. */
export function createConversationFacts(deps: Deps) {
  const { bindings, results, projection, recordings, requests, droppedWords, webLegs } = deps;

  /** How the audio ended according to the stored result. If it was lost, the browser's line says how long it lasted. */
  async function storedMediaEnd(result: ResultHead): Promise<MediaEnd | undefined> {
    const leg = lineOf(result.carrierSid) === 'browser' ? await webLegs.find(result.carrierSid) : null;
    return toMediaEnd(result, leg === null ? undefined : lastSeenAt(leg));
  }
  return {
    /**
     * Start and end of the audio, for a workflow that missed the media server's signals. Times in ms since the epoch.
     * `isUninstructed`: we never told the carrier what to do with the answered outbound call.
     * @param input.givenUpAt when we gave the call up, if the workflow knows
     * @param input.givenUpAfter number of the last stream before that; absent if no later stream can continue the call
     */
    async readMediaFacts(input: {
      callId: string;
      givenUpAt?: number;
      givenUpAfter?: number;
    }): Promise<{ startedAt?: number; end?: MediaEnd; isUninstructed?: true }> {
      const { callId } = input;
      const [result, binding] = await Promise.all([results.findHead(callId), bindings.find(callId)]);
      const end = (result ? await storedMediaEnd(result) : undefined) ?? givenUpMediaEnd(result, input, binding);
      return {
        ...(result ? { startedAt: result.startedAt.getTime() } : {}),
        ...(end === undefined ? {} : { end }),
        ...(result === null && binding?.isInstructed === false ? { isUninstructed: true } : {}),
      };
    },

    /** Adds the conversation's result, or its last checkpoint, to the read model. */
    async collectResult(change: ProjectedChange): Promise<void> {
      const { callId } = change;
      const facts = await requests.facts(callId);
      const result = await results.find(callId);
      await projection.apply(change, await collectedFields(recordings, { callId, storage: facts?.storage }, result));
      if (facts === undefined) return;
      const { accountId, mode, storage } = facts;
      await droppedWords.drop({ callId, ledgerAccountId: ledgerAccountId(accountId, mode), storage }, result);
    },
  };
}

/**
 * How the audio of an ended call ended. If the stream was lost before the agent was heard, that is our failure. If it
 * was lost later, the reason is unknown (undefined), and the carrier's status decides.
 * @param seenAt when the browser's line was last known to be open, in ms since the epoch; absent for a phone. A browser can break
 *   its own stream, so its audio counts as lost only then: a call that lasted is billed.
 */
export function toMediaEnd(result: ResultHead, seenAt?: number): MediaEnd | undefined {
  const { startedAt, endedAt, endReason, agentAudioPlayed } = result;
  if (endedAt !== undefined && endReason !== undefined) {
    return { reason: endReason, at: endedAt.getTime(), agentAudioPlayed };
  }
  if (agentAudioPlayed) return undefined;
  return { reason: 'media_failed', at: seenAt ?? startedAt.getTime(), agentAudioPlayed };
}

/**
 * End of the audio of a call that we gave up: our failure, even if the agent was heard before. Reports that the call was
 * given up do not count if it continued in a later stream.
 */
function givenUpMediaEnd(
  result: ResultHead | null,
  ...reports: ({ givenUpAt?: Date | number; givenUpAfter?: number } | null)[]
): MediaEnd | undefined {
  const lastStream = result === null ? NO_STREAM : (result.resumptions ?? 0);
  const valid = reports.find((one) => one?.givenUpAt !== undefined && lastStream <= (one.givenUpAfter ?? Infinity));
  if (valid?.givenUpAt === undefined) return undefined;
  const agentAudioPlayed = result?.agentAudioPlayed ?? false;
  return { reason: 'media_failed', at: valid.givenUpAt.valueOf(), agentAudioPlayed };
}

/**
 * Returns the read model's fields for a conversation that the media server may never finish. Ends the recording, so
 * that the part stored so far can be played.
 */
export async function collectedFields(
  recordings: Recordings,
  { callId, storage }: { callId: string; storage: StorageMode | undefined },
  result: ConversationResultDocument | null,
): Promise<Partial<CallDocument>> {
  if (result === null || result.hasRecording !== undefined) return conversationFields(result, storage);
  return conversationFields({ ...result, hasRecording: await recordings.seal(callId) }, storage);
}

/**
 * Converts a conversation's result to fields of the read model.
 * @param storage what the agent of the call stores
 */
export function conversationFields(
  result: ConversationResultDocument | null,
  storage: StorageMode | undefined,
): Partial<CallDocument> {
  if (!result) return { summary: 'The call was answered; its conversation could not be recovered.' };
  const { turns, outputParameters, hasRecording, engine, answeredBy, latencies, usage, resumptions } = result;
  const kept = keptBy(storage);
  const transcription = kept.words ? turns.map(({ speaker, text }) => `${speaker}: ${text}`).join('\n') : '';
  const summary = kept.summary ? result.summary : result.summary && WITHHELD_SUMMARY;
  return {
    engine,
    summary: summary ?? `The conversation broke off after ${turns.length} turns.`,
    ...(transcription === '' ? {} : { transcription }),
    ...(outputParameters === undefined ? {} : { outputParameters }),
    ...(answeredBy === undefined ? {} : { answeredBy }),
    ...(hasRecording ? { hasRecording } : {}),
    ...(latencies === undefined ? {} : { latencies }),
    ...(usage === undefined ? {} : { usage }),
    ...(resumptions ? { resumptions } : {}),
  };
}
