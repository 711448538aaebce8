import { createCallSearch } from '../../calls/search/call-search.js';
import { traceOfCall } from '../../kernel/call-trace.js';
import { CliError } from '../run.js';
import type { AdminConnection } from './connect.js';
import type { Output } from '../output.js';

/** Makes calls from before the search for calls findable. */
export async function indexCalls({ database }: AdminConnection, out: Output) {
  await out.record('All calls can be found by search.', {
    indexed: await createCallSearch(database).storeAllMissing(),
  });
}

/** Prints what leads to the traces and log lines of a call. */
export async function traceCall({ database }: AdminConnection, out: Output, callId: string) {
  const trace = traceOfCall(callId);
  const request = await database.callRequests.findById(callId, { accountId: 1, mode: 1, requestId: 1 }).lean();
  if (trace === undefined || request === null) throw new CliError(`There is no call ${callId}.`);
  const { accountId, mode, requestId } = request;
  await out.record(`Call ${callId} has the trace ${trace.traceId}.`, {
    call_id: callId,
    trace_id: trace.traceId,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    account_id: accountId,
    mode,
  });
}
