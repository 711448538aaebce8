import { CALL_ID_PATTERN } from './ids.js';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const PREFIX = 'call_'.length;
const TRACE_BITS = 128;
const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;

/** The trace of a call, and its first span. All digits are hexadecimal, as in a `traceparent` header. */
export interface CallTrace {
  traceId: string;
  /** Id of the span that begins the trace: the request that placed the call. */
  rootSpanId: string;
}

/**
 * Derives the trace of a call from its id: the 128 bits of the id are the trace id, and the random half of them is the
 * id of the first span. So every process knows the trace of a call without a read, also after a crash.
 * @returns undefined if the text is not a call id
 */
export function traceOfCall(callId: string): CallTrace | undefined {
  if (!CALL_ID_PATTERN.test(callId)) return undefined;
  let value = 0n;
  for (const character of callId.slice(PREFIX)) value = value * 32n + BigInt(ALPHABET.indexOf(character));
  const traceId = BigInt.asUintN(TRACE_BITS, value).toString(16).padStart(TRACE_DIGITS, '0');
  const rootSpanId = traceId.slice(-SPAN_DIGITS);
  // The standard forbids ids of zeros only, which no call has by chance.
  return /^0+$/.test(rootSpanId) ? undefined : { traceId, rootSpanId };
}
