import mongoose from 'mongoose';
import type { Database } from '../../src/database.js';
import { encodeMulaw, MULAW_SILENCE } from '../../src/voice/audio/mulaw.js';
import type { ConversationResultDocument } from '../../src/voice/results/model.js';
import { sidOf } from './sids.js';

const BYTES_PER_MS = 16;
const SAMPLES_PER_MS = 8;
const CHUNK_BYTES = 32_000;
const QUESTION = 'Could you tell me whether the appointment tomorrow at half past nine still suits you?';
const ANSWER = 'Yes, that suits me, thank you.';

type Turns = ConversationResultDocument['turns'];

/** Returns a conversation of a length in ms: the agent asks for 4 s, the other person answers for 2.5 s. */
export function turnsOf(lengthMs: number): Turns {
  const turns: Turns = [];
  for (let at = 500; at + 9_000 < lengthMs; at += 9_000) {
    turns.push({ speaker: 'agent', text: QUESTION, startMs: at, endMs: at + 4_000 });
    turns.push({ speaker: 'caller', text: ANSWER, startMs: at + 5_000, endMs: at + 7_500 });
  }
  return turns;
}

/** Stores what a media server stores of a call: its words, latencies and tool calls. */
export async function storeConversation(database: Database, callId: string, turns: Turns): Promise<void> {
  const replies = turns.filter(({ speaker }, index) => speaker === 'agent' && index > 0);
  await database.conversationResults.create({
    _id: callId,
    carrierSid: sidOf('CA', 1),
    streamSid: sidOf('MZ', 1),
    startedAt: new Date(),
    engine: 'pipeline',
    agentAudioPlayed: true,
    turns,
    latencies: replies.map(({ startMs }, index) => {
      const parts = { recogniser: 180 + (index % 7) * 30, model: 320 + ((index * 37) % 11) * 60, voice: 110, own: 25 };
      return { atMs: startMs, totalMs: Object.values(parts).reduce((sum, ms) => sum + ms, 0), parts };
    }),
    toolCalls: [
      {
        name: 'find_free_slot_of_the_practice',
        atMs: 10_000,
        durationMs: 212,
        ok: true,
        arguments: '{"day":"2026-12-24"}',
        result: '{"slots":["09:30"]}',
      },
      { name: 'book', atMs: 20_000, durationMs: 5_004, ok: false, arguments: '{}', result: 'the server timed out' },
    ],
  });
}

/** Stores the recording of a conversation: a tone for each turn, on the track of its speaker. */
export async function storeRecording(
  database: Database,
  callId: string,
  { turns, lengthMs }: { turns: Turns; lengthMs: number },
): Promise<void> {
  const audio = Buffer.alloc(lengthMs * BYTES_PER_MS, MULAW_SILENCE);
  for (const { speaker, startMs, endMs } of turns) {
    const tone = Int16Array.from({ length: (endMs - startMs) * SAMPLES_PER_MS }, (_, n) =>
      Math.round((4_000 + 9_000 * Math.abs(Math.sin(n / 1_900) * Math.cos(n / 7_300))) * Math.sin(n / 3)),
    );
    const track = speaker === 'caller' ? 0 : 1;
    for (const [n, byte] of encodeMulaw(tone).entries()) audio[(startMs * SAMPLES_PER_MS + n) * 2 + track] = byte;
  }
  const file = { filename: `${callId}.wav`, metadata: { contentType: 'audio/wav' as const, offsetMs: 0 } };
  await database.recordingFiles.create({
    ...file,
    _id: callId,
    chunkSize: CHUNK_BYTES,
    uploadDate: new Date(),
    length: audio.length,
  });
  const chunks = Array.from({ length: Math.ceil(audio.length / CHUNK_BYTES) }, (_, n) => ({
    _id: `${callId}:${n}` as never,
    files_id: callId,
    n,
    data: new mongoose.mongo.Binary(audio.subarray(n * CHUNK_BYTES, (n + 1) * CHUNK_BYTES)),
  }));
  for (let from = 0; from < chunks.length; from += 100) {
    await database.connection.collection('recordings.chunks').insertMany(chunks.slice(from, from + 100));
  }
}
