import { createOrphanedRecordings } from '../../calls/retention/orphaned-recordings.js';
import { createCallSearch } from '../../calls/search/call-search.js';
import { createAuditLog } from '../../identity/access/audit-log.js';
import { traceOfCall } from '../../kernel/call-trace.js';
import type { StoredCall } from '../../voice/recordings/stores/port.js';
import { createAudioStores } from '../../voice/recordings/stores/stores.js';
import { CliError, EXIT_USAGE } from '../run.js';
import type { AdminConnection } from './connect.js';
import type { Output } from '../output.js';

/** Makes calls from before the search for calls findable. */
export async function indexCalls({ database }: AdminConnection, out: Output) {
  await out.record('All calls can be found by search.', {
    indexed: await createCallSearch(database).storeAllMissing(),
  });
}

/** Prints what leads to the traces, to the log lines and to the carrier's records of a call. */
export async function traceCall({ database }: AdminConnection, out: Output, callId: string) {
  const trace = traceOfCall(callId);
  const [request, binding] = await Promise.all([
    database.callRequests.findById(callId, { accountId: 1, mode: 1, requestId: 1 }).lean(),
    database.carrierBindings.findById(callId, { carrierSid: 1, closed: 1 }).lean(),
  ]);
  if (trace === undefined || request === null) throw new CliError(`There is no call ${callId}.`);
  const { accountId, mode, requestId } = request;
  await out.record(`Call ${callId} has the trace ${trace.traceId}.`, {
    call_id: callId,
    trace_id: trace.traceId,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    account_id: accountId,
    mode,
    ...(binding === null ? {} : { carrier_sid: binding.closed === true ? 'closed' : binding.carrierSid }),
  });
}

/** Shows recordings in object storage that the database does not know. With `--delete`, deletes them. */
export async function orphanedRecordings(
  { config, database }: AdminConnection,
  out: Output,
  { delete: isDeletion = false }: { delete?: boolean },
) {
  const { objects: store } = createAudioStores(database, config.recordings);
  if (store === undefined) throw new CliError('No object storage is configured: set RECORDING_S3_BUCKET.', EXIT_USAGE);
  const recordings = createOrphanedRecordings({ database, store, auditLog: createAuditLog(database) });
  const { orphans, kept, tooYoung } = await recordings.find();
  if (isDeletion && kept === 0 && orphans.length > 0) {
    throw new CliError(
      'The database knows no recording in this bucket, so it may be that of another service. Nothing was deleted.',
    );
  }
  const { deleted, failure } = await recordings.delete(isDeletion ? orphans : []);
  const shown = {
    calls_with_file: kept,
    calls_without_file: orphans.length,
    too_young: tooYoung,
    ...sizeOf(orphans),
    ...(isDeletion ? { calls_deleted: deleted.length } : {}),
  };
  const sentence = isDeletion ? 'Deleted.' : 'Nothing was changed. Add --delete to delete these. It cannot be undone.';
  const callIds = orphans.map(({ callId }) => callId);
  await out.record(orphans.length === 0 ? 'Nothing to delete.' : sentence, { ...shown, call_ids: callIds }, shown);
  if (failure === undefined) return;
  throw new CliError(`Not everything could be deleted: ${failure.message} Repeat the command.`);
}

function sizeOf(calls: readonly StoredCall[]) {
  const times = calls.map(({ newestAt }) => newestAt.toISOString()).toSorted();
  return {
    objects: calls.reduce((sum, { objects }) => sum + objects, 0),
    bytes: calls.reduce((sum, { bytes }) => sum + bytes, 0),
    ...(calls.length === 0 ? {} : { oldest_at: times.at(0), newest_at: times.at(-1) }),
  };
}
