import { MAX_STREAM_NUMBER } from '../../kernel/resumption.js';

/** The ids of all files that a call can have, ordered by stream number. */
export function possibleFiles(callId: string): string[] {
  return Array.from({ length: MAX_STREAM_NUMBER + 1 }, (_, stream) => fileId(callId, stream));
}

export function fileId(callId: string, stream: number): string {
  return stream === 0 ? callId : `${callId}.${stream}`;
}

export function callIdOf(id: string): string {
  return id.replace(/\.\d+$/, '');
}

export function streamOf(id: string): number {
  return Number(/\.(\d+)$/.exec(id)?.[1] ?? 0);
}
