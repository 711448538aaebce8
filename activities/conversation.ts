import type { MediaEnd } from '../src/domain/call-state.js';
import type { ConversationResults } from '../src/store/conversation-results.js';
import type { ConversationResultDocument } from '../src/store/models/conversation-result.js';
import type { CallDocument } from '../src/store/models/call.js';
import type { CallProjection, ProjectedChange } from '../src/store/projection.js';

interface Deps {
  results: ConversationResults;
  projection: CallProjection;
}

/** What the media server stored of a conversation. */
export function createConversationActivities({ results, projection }: Deps) {
  return {
    /** What the media server saw, for a workflow that its signals did not reach. Times in ms. */
    async readMediaFacts(input: { callId: string }): Promise<{ startedAt?: number; end?: MediaEnd }> {
      const result = await results.find(input.callId);
      if (!result) return {};
      const { startedAt, endedAt, endReason, agentAudioPlayed } = result;
      if (endedAt === undefined || endReason === undefined) return { startedAt: startedAt.getTime() };
      return { startedAt: startedAt.getTime(), end: { reason: endReason, at: endedAt.getTime(), agentAudioPlayed } };
    },

    /** Adds the conversation to the read model: as it was finished, or as far as it was checkpointed. */
    async collectResult(change: ProjectedChange): Promise<void> {
      const result = await results.find(change.callId);
      await projection.apply(change, conversationFields(result));
    },
  };
}

/** The read model's share of a conversation's result. */
export function conversationFields(result: ConversationResultDocument | null): Partial<CallDocument> {
  if (!result) return { summary: 'The call was answered; its conversation could not be recovered.' };
  const { turns, outputParameters, hasRecording, engine, answeredBy } = result;
  const transcription = turns.map(({ speaker, text }) => `${speaker}: ${text}`).join('\n');
  return {
    engine,
    summary: result.summary ?? `The conversation broke off after ${turns.length} turns.`,
    ...(transcription === '' ? {} : { transcription }),
    ...(outputParameters === undefined ? {} : { outputParameters }),
    ...(answeredBy === undefined ? {} : { answeredBy }),
    ...(hasRecording ? { hasRecording } : {}),
  };
}
