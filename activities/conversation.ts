import type { MediaEnd } from '../src/kernel/call-state.js';
import type { ConversationResults, ResultHead } from '../src/voice/results/conversation-results.js';
import type { ConversationResultDocument } from '../src/voice/results/model.js';
import type { CallDocument } from '../src/calls/call-model.js';
import type { CallProjection, ProjectedChange } from '../src/calls/projection.js';
import type { Recordings } from '../src/voice/recordings/recordings.js';
import type { CarrierBindings } from '../src/telephony/carrier-bindings.js';

interface Deps {
  bindings: CarrierBindings;
  results: ConversationResults;
  projection: CallProjection;
  recordings: Recordings;
}

/** What the media server stored of a conversation. */
export function createConversationActivities({ bindings, results, projection, recordings }: Deps) {
  return {
    /**
     * What the media server saw, for a workflow that its signals did not reach. Times in ms.
     * @param input.givenUpAt when the call was given up, where the workflow was told
     */
    async readMediaFacts(input: {
      callId: string;
      givenUpAt?: number;
    }): Promise<{ startedAt?: number; end?: MediaEnd }> {
      const { callId } = input;
      const [result, binding] = await Promise.all([results.findHead(callId), bindings.find(callId)]);
      const givenUpAt = input.givenUpAt ?? binding?.givenUpAt?.getTime();
      const end = (result ? mediaEndOf(result) : undefined) ?? endOfGivenUp(result, givenUpAt);
      return {
        ...(result ? { startedAt: result.startedAt.getTime() } : {}),
        ...(end === undefined ? {} : { end }),
      };
    },

    /** Adds the conversation to the read model: as it was finished, or as far as it was checkpointed. */
    async collectResult(change: ProjectedChange): Promise<void> {
      const result = await results.find(change.callId);
      await projection.apply(change, await collectedFields(recordings, change.callId, result));
    },
  };
}

/**
 * How the audio of a call ended that the carrier says is over. A stream that was lost before the agent was heard is our own
 * fault; of one that was lost later nothing is known, and the carrier's word stands.
 */
export function mediaEndOf(result: ResultHead): MediaEnd | undefined {
  const { startedAt, endedAt, endReason, agentAudioPlayed } = result;
  if (endedAt !== undefined && endReason !== undefined) {
    return { reason: endReason, at: endedAt.getTime(), agentAudioPlayed };
  }
  return agentAudioPlayed ? undefined : { reason: 'media_failed', at: startedAt.getTime(), agentAudioPlayed };
}

/** A call that we could not go on with is our own fault, also when the agent was heard before. */
function endOfGivenUp(result: ResultHead | null, givenUpAt: number | undefined): MediaEnd | undefined {
  if (givenUpAt === undefined) return undefined;
  return { reason: 'media_failed', at: givenUpAt, agentAudioPlayed: result?.agentAudioPlayed ?? false };
}

/**
 * The read model's share of a conversation that nobody may ever finish: its recording is made readable as far as it is
 * stored.
 */
export async function collectedFields(
  recordings: Recordings,
  callId: string,
  result: ConversationResultDocument | null,
): Promise<Partial<CallDocument>> {
  if (result === null || result.hasRecording !== undefined) return conversationFields(result);
  return conversationFields({ ...result, hasRecording: await recordings.seal(callId) });
}

/** The read model's share of a conversation's result. */
export function conversationFields(result: ConversationResultDocument | null): Partial<CallDocument> {
  if (!result) return { summary: 'The call was answered; its conversation could not be recovered.' };
  const { turns, outputParameters, hasRecording, engine, answeredBy, latencies, usage, resumptions } = result;
  const transcription = turns.map(({ speaker, text }) => `${speaker}: ${text}`).join('\n');
  return {
    engine,
    summary: result.summary ?? `The conversation broke off after ${turns.length} turns.`,
    ...(transcription === '' ? {} : { transcription }),
    ...(outputParameters === undefined ? {} : { outputParameters }),
    ...(answeredBy === undefined ? {} : { answeredBy }),
    ...(hasRecording ? { hasRecording } : {}),
    ...(latencies === undefined ? {} : { latencies }),
    ...(usage === undefined ? {} : { usage }),
    ...(resumptions ? { resumptions } : {}),
  };
}
