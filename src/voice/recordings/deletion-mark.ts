import type { VoiceDatabase } from '../database.js';
import { isDuplicateKey } from '../../platform/mongo/connection.js';
import { callIdOf, possibleFiles } from './file-ids.js';
import { newFile, WRITTEN_WITHIN_MS } from './model.js';

type Files = VoiceDatabase['recordingFiles'];

/** A process notices sooner that the file it writes was deleted, and no request to a store takes as long. */
const FORGET_AFTER_MS = 10 * 60_000;

/**
 * Marks all files of a call as deleted. From then on, a process that writes one of them removes what it stores. A process
 * may also be about to create a file, so the file of the first stream is marked even if it does not exist.
 * @param p.endedLongAgo whether no process can write any more, so that a file that does not exist needs no mark
 * @returns whether that mark has to stay for a while
 */
export async function markDeleted(
  files: Files,
  callId: string,
  { chunkSize, endedLongAgo }: { chunkSize: number; endedLongAgo: boolean },
): Promise<boolean> {
  const ids = { _id: { $in: possibleFiles(callId) } };
  const marked = {
    $set: { forgetAfter: new Date(Date.now() + FORGET_AFTER_MS) },
    $unset: { length: '', open: '', waveform: '', joinAfter: '' },
  };
  const longAgo = new Date(Date.now() - WRITTEN_WITHIN_MS);
  const mayBeWritten = !endedLongAgo && (await files.exists({ ...ids, uploadDate: { $lt: longAgo } })) === null;
  if (mayBeWritten) {
    const { _id, ...created } = newFile({ id: callId, chunkSize, offsetMs: 0 });
    await files.updateOne({ _id }, { ...marked, $setOnInsert: created }, { upsert: true }).catch((error: unknown) => {
      // It was created meanwhile, so the next command marks it.
      if (!isDuplicateKey(error)) throw error;
    });
  }
  await files.updateMany(ids, marked);
  return mayBeWritten;
}

/**
 * Notices that a call's recording was deleted before this file of it was created, and marks the file, too. A deletion marks
 * the first stream's file before it looks for others, so either it finds this file, or this finds its mark.
 */
export async function adoptMark(files: Files, id: string): Promise<boolean> {
  const callId = callIdOf(id);
  // The store checks the file itself.
  if (callId === id) return false;
  const mark = await files.findOne({ _id: callId, forgetAfter: { $exists: true } }, { forgetAfter: 1 }).lean();
  if (!mark?.forgetAfter) return false;
  await files.updateOne({ _id: id }, { $set: { forgetAfter: mark.forgetAfter }, $unset: { open: '' } });
  return true;
}
