import type { VoiceDatabase } from '../database.js';

/** Finds and deletes the tool calls of old calls. The rest of their results stays. */
export function createOldToolCalls({ conversationResults }: VoiceDatabase) {
  return {
    /**
     * Ids of calls, or test calls, that have tool calls and started before `time`, oldest first.
     * @param p.from the earliest start; absent: any
     * @returns `last`: when the last of them started
     */
    async before(
      time: Date,
      { which, limit, from }: { which: 'all' | 'test'; limit: number; from: Date | undefined },
    ): Promise<{ callIds: string[]; last: Date | undefined }> {
      const ofTest = which === 'test' ? { test: true as const } : {};
      const startedAt = { ...(from && { $gte: from }), $lt: time };
      const found = await conversationResults
        .find({ ...ofTest, toolCalls: { $exists: true }, startedAt }, { startedAt: 1 })
        .sort({ startedAt: 1 })
        .limit(limit)
        .lean<{ _id: string; startedAt: Date }[]>();
      return { callIds: found.map(({ _id }) => _id), last: found.at(-1)?.startedAt };
    },

    async delete(callIds: readonly string[]): Promise<void> {
      if (callIds.length === 0) return;
      await conversationResults.updateMany({ _id: { $in: [...callIds] } }, { $unset: { toolCalls: '' } });
    },
  };
}
