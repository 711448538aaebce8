import type { IncomingHttpHeaders } from 'node:http';

/** Positions of the first and the last byte of a part of a file. */
export interface ByteRange {
  first: number;
  last: number;
}

/**
 * Reads which part of a file a request asks for (RFC 9110, sections 13.1.5 and 14). Several ranges and invalid headers
 * are ignored, which the RFC allows.
 * @param file its length in bytes, and its ETag
 * @returns undefined if the whole file is to be sent; `unsatisfiable` if the range begins after the end of the file
 */
export function requestedRange(
  headers: IncomingHttpHeaders,
  file: { bytes: number; etag: string },
): ByteRange | 'unsatisfiable' | undefined {
  const ifRange = headers['if-range'];
  if (headers.range === undefined || (ifRange !== undefined && ifRange !== file.etag)) return undefined;
  const [, begin = '', end = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(headers.range) ?? [];
  const [from, to] = [Number(begin), Number(end)];
  if (begin === '' && end === '') return undefined;
  if (begin === '') {
    return to === 0 ? 'unsatisfiable' : { first: Math.max(0, file.bytes - to), last: file.bytes - 1 };
  }
  if (end !== '' && to < from) return undefined;
  if (from >= file.bytes) return 'unsatisfiable';
  return { first: from, last: end === '' ? file.bytes - 1 : Math.min(to, file.bytes - 1) };
}
