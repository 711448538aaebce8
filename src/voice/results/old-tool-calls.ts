import type { VoiceDatabase } from '../database.js';

const DELETED_AT_ONCE = 500;

/** Deletes the tool calls of old calls. The rest of their results stays. */
export function createOldToolCalls({ conversationResults }: VoiceDatabase) {
  return {
    /**
     * Deletes the tool calls of some calls, or test calls, that started before `time`.
     * @returns whether there may be more
     */
    async deleteBefore(time: Date, which: 'all' | 'test' = 'all'): Promise<boolean> {
      const ofTest = which === 'test' ? { test: true as const } : {};
      const found = await conversationResults
        .find({ ...ofTest, toolCalls: { $exists: true }, startedAt: { $lt: time } }, { _id: 1 })
        .limit(DELETED_AT_ONCE)
        .lean<{ _id: string }[]>();
      if (found.length === 0) return false;
      const ids = found.map(({ _id }) => _id);
      await conversationResults.updateMany({ _id: { $in: ids } }, { $unset: { toolCalls: '' } });
      return true;
    },
  };
}
