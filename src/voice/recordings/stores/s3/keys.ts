import { callIdOf, streamOf } from '../../file-ids.js';
import type { RecordingFileDocument, RecordingObjects } from '../../model.js';
import type { Place } from './requests.js';

type Home = Pick<RecordingObjects, 'bucket' | 'prefix'>;

/** Size of a segment: five seconds of a recording, so that a process that is killed loses little. */
export const SEGMENT_BYTES = 80_000;

/** Where a file is. @throws Error if it is not in object storage */
export function placeOf({ _id: id, objects }: RecordingFileDocument): RecordingObjects {
  if (objects === undefined) throw new Error(`The recording ${id} is not in object storage.`);
  return objects;
}

/** Keys contain no personal data: a call's id, the stream number, the number of the segment. */
export function callPlace(callId: string, { bucket, prefix }: Home): Place {
  return { bucket, key: `${prefix}${callId}/` };
}

export function segmentsPlace(id: string, at: Home): Place {
  const { bucket, key } = callPlace(callIdOf(id), at);
  return { bucket, key: `${key}${streamOf(id)}/segments/` };
}

export function segmentPlace(id: string, at: Home, n: number): Place {
  const { bucket, key } = segmentsPlace(id, at);
  return { bucket, key: `${key}${String(n).padStart(6, '0')}` };
}

export function joinedPlace(id: string, at: Home): Place {
  const { bucket, key } = callPlace(callIdOf(id), at);
  return { bucket, key: `${key}${streamOf(id)}/joined` };
}
