import type { VoiceDatabase } from '../database.js';

/** Deletes what was said in an ended call, and what follows from it; succeeds if there is nothing. */
export async function deleteTexts({ conversationResults, liveWords }: VoiceDatabase, callId: string): Promise<void> {
  const texts = { values: '', summary: '', outputParameters: '', toolCalls: '', sessionLogs: '' };
  await conversationResults.updateOne({ _id: callId }, { $set: { turns: [] }, $unset: texts });
  await liveWords.deleteOne({ _id: callId });
}
