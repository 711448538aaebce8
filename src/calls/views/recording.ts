import { ServiceError } from '../../kernel/errors.js';
import type { CallQueries } from '../call-queries.js';
import type { Recordings } from '../../voice/recordings/recordings.js';
import type { ApiContext } from '../../platform/http/context.js';
import type { Principal } from '../../identity/access/principal.js';
import { deadlineOf, within } from '../../platform/http/deadline.js';
import { findCall } from '../placing/call-status.js';

/** GET /calls/{call_id}/recording: the recording of a call of the account that asks, as a WAV file. */
export function createReadRecording(deps: { queries: CallQueries; recordings: Recordings }) {
  return async function readRecording(ctx: ApiContext, principal: Principal, callId: string): Promise<void> {
    const deadline = deadlineOf(ctx);
    const call = await within(deadline, findCall(deps.queries, principal, callId));
    const recording = call.erasedAt ? null : await within(deadline, deps.recordings.read(call._id));
    if (recording === null) throw new ServiceError('NOT_FOUND', 'This call has no recording.');
    ctx.status = 200;
    ctx.set('Content-Type', 'audio/wav');
    ctx.set('Content-Disposition', `attachment; filename="${call._id}.wav"`);
    ctx.length = recording.bytes;
    ctx.body = recording.stream;
  };
}
