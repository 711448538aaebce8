import type { VoiceDatabase } from '../database.js';

/** Deletes what was said in an ended call, and what follows from it; succeeds if there is nothing. */
export async function deleteTexts({ conversationResults, liveWords }: VoiceDatabase, callId: string): Promise<void> {
  const texts = { values: '', summary: '', outputParameters: '', toolCalls: '', sessionLogs: '' };
  await conversationResults.updateOne({ _id: callId }, { $set: { turns: [] }, $unset: texts });
  await liveWords.deleteOne({ _id: callId });
}

/**
 * Deletes the words of an ended call whose agent keeps none; its values stay. Later checkpoints are rejected, so that none brings
 * the words back. Can be repeated.
 * @param keepsSummary whether the summary stays, too
 */
export async function dropWords(
  { conversationResults, liveWords }: VoiceDatabase,
  { callId, keepsSummary }: { callId: string; keepsSummary: boolean },
): Promise<void> {
  const words = { values: '', toolCalls: '', sessionLogs: '', ...(keepsSummary ? {} : { summary: '' }) };
  await conversationResults.updateOne(
    { _id: callId },
    { $set: { turns: [], wordsDroppedAt: new Date() }, $unset: words },
  );
  await liveWords.deleteOne({ _id: callId });
}
