import { defaultPayloadConverter, type Payload } from '@temporalio/common';

/** The header in which the interceptors of Temporal's SDK pass a trace on. */
const TRACE_HEADER = '_tracer-data';

/** Returns the header of a request that does not pass the interceptors. */
export function traceHeader(traceparent: string | undefined): { header?: { fields: Record<string, Payload> } } {
  if (traceparent === undefined) return {};
  return { header: { fields: { [TRACE_HEADER]: defaultPayloadConverter.toPayload({ traceparent }) } } };
}
