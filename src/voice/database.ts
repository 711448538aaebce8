import type { Connection } from 'mongoose';
import type { WebhooksDatabase } from '../webhooks/database.js';
import { liveWordsSchema } from './live-words/model.js';
import { conversationResultSchema } from './results/model.js';
import { recordingChunkSchema, recordingFileSchema } from './recordings/model.js';

/** The MongoDB collections of the voice domain and of the domains that it uses. */
export type VoiceDatabase = WebhooksDatabase & ReturnType<typeof voiceModels>;

export function voiceModels(connection: Connection) {
  return {
    conversationResults: connection.model('ConversationResult', conversationResultSchema),
    liveWords: connection.model('LiveWords', liveWordsSchema),
    recordingChunks: connection.model('RecordingChunk', recordingChunkSchema),
    recordingFiles: connection.model('RecordingFile', recordingFileSchema),
  };
}
