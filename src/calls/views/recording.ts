import { ServiceError } from '../../kernel/errors.js';
import type { CallQueries } from '../call-queries.js';
import type { Recordings } from '../../voice/recordings/recordings.js';
import { askedMode } from '../../identity/access/identification.js';
import type { Principal, RouteHandlers } from '../../identity/access/principal.js';
import type { ApiContext } from '../../platform/http/context.js';
import { requestedRange } from '../../platform/http/routing/byte-range.js';
import { content } from '../../platform/http/routing/response.js';
import type { callRoutes } from './contract.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import type { Config } from '../../platform/config/config.js';
import { findCall } from '../placing/call-status.js';
import { createDownloadBudgets, reportUnsent } from './download-budget.js';

/**
 * Handler of GET /calls/{call_id}/recording, which returns the recording of one of the account's calls as a WAV file, or
 * the part of it that the Range header asks for, so that players can seek.
 */
export function createReadRecording(
  deps: {
    config: Pick<Config, 'recordings'>;
    queries: CallQueries;
    recordings: Recordings;
  } & Pick<Parameters<typeof createDownloadBudgets>[0], 'database' | 'ledger'>,
): RouteHandlers<typeof callRoutes>['readRecording'] {
  const budgets = createDownloadBudgets({ ...deps, bytesPerDay: deps.config.recordings.downloadBytesPerDay });
  return async ({ ctx, principal, params: { call_id: callId } }) => {
    const deadline = deadlineOf(ctx);
    const call = await withDeadline(deadline, findRecordedCall(deps.queries, ctx, principal, callId));
    const recording = call.erasedAt ? null : await withDeadline(deadline, deps.recordings.read(call._id));
    if (recording === null) throw new ServiceError('NOT_FOUND', 'This call has no recording.');
    const etag = `"${call._id}-${recording.bytes}"`;
    const range = requestedRange(ctx.headers, { bytes: recording.bytes, etag });
    if (range === 'unsatisfiable') {
      ctx.set('Content-Range', `bytes */${recording.bytes}`);
      throw new ServiceError(
        'RANGE_NOT_SATISFIABLE',
        `Range must begin before the end of the recording, which has ${recording.bytes} bytes.`,
      );
    }
    const bytes = range === undefined ? recording.bytes : range.last - range.first + 1;
    const owner = { accountId: call.accountId, mode: call.mode };
    const taken = budgets.take({ ...owner, bytes });
    const returnUnsent = await withDeadline(deadline, taken).catch((error: unknown) => {
      // Nothing is sent, so bytes that are taken later are returned at once.
      taken.then(
        (returnTaken) => returnTaken(bytes),
        () => undefined,
      );
      throw error;
    });
    reportUnsent(ctx.res, bytes, returnUnsent);
    return content('audio/wav', recording.open(range), {
      ...(range === undefined ? {} : { status: 206 }),
      headers: {
        'Content-Disposition': `attachment; filename="${call._id}.wav"`,
        'Accept-Ranges': 'bytes',
        ETag: etag,
        ...(range === undefined ? {} : { 'Content-Range': `bytes ${range.first}-${range.last}/${recording.bytes}` }),
      },
      length: bytes,
    });
  };
}

/**
 * Finds one of the account's calls. `recording_url` names no mode, so a member who opens it gets a call of either mode.
 * @throws ServiceError CALL_NOT_FOUND
 */
async function findRecordedCall(queries: CallQueries, ctx: ApiContext, principal: Principal, callId: string) {
  const call = await findCall(queries, principal, callId).catch((error: unknown) => {
    const isOfAnyMode = principal.actor.kind === 'member' && askedMode(ctx) === undefined;
    if (!isOfAnyMode || !(error instanceof ServiceError) || error.code !== 'CALL_NOT_FOUND') throw error;
  });
  return call ?? findCall(queries, { ...principal, mode: 'live' }, callId);
}
