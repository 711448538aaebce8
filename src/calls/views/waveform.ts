import { ServiceError } from '../../kernel/errors.js';
import type { RouteHandlers } from '../../identity/access/principal.js';
import { createFairQueue } from '../../platform/fair-queue.js';
import { deadlineOf, serviceUnavailable, withDeadline } from '../../platform/http/deadline.js';
import type { Recordings } from '../../voice/recordings/recordings.js';
import type { CallQueries } from '../call-queries.js';
import { findCall } from '../placing/call-status.js';
import type { callRoutes } from './contract.js';
import { waveformView } from './call-views.js';

/**
 * Time limit for a response. The first reading of a long call's waveform reads the whole recording, and continues until it
 * is stored if that takes longer.
 */
const TIMEOUT_MS = 20_000;
/** Time limit for a computation from its start. Four hours take some seconds on a machine that is not busy. */
const COMPUTE_WITHIN_MS = 300_000;
const RETRY_AFTER_SECONDS = 5;
/** Waveforms of each mode that a process computes at once, and calls whose computation waits. */
const MAX_RUNNING = { live: 2, test: 1 };
const MAX_WAITING = 100;

/** Handler of GET /calls/{call_id}/waveform. */
export function createReadWaveform(deps: {
  queries: CallQueries;
  recordings: Recordings;
  /** Overridden only by tests. */
  respondWithinMs?: number;
}): RouteHandlers<typeof callRoutes>['readWaveform'] {
  const computations = { live: createComputations(MAX_RUNNING.live), test: createComputations(MAX_RUNNING.test) };
  return async ({ ctx, principal, params: { call_id: callId } }) => {
    const call = await withDeadline(deadlineOf(ctx), findCall(deps.queries, principal, callId));
    const deadline = deadlineOf(ctx, deps.respondWithinMs ?? TIMEOUT_MS);
    const found = call.erasedAt
      ? Promise.resolve(null)
      : deps.recordings.readWaveform(call._id, (compute) =>
          computations[principal.mode].run({ groups: [call.accountId] }, () => withinItsLimit(compute)),
        );
    const waveform = await withDeadline(deadline, found, stillComputing);
    if (waveform === null) throw new ServiceError('NOT_FOUND', 'This call has no recording.');
    return waveformView(callId, waveform);
  };
}

const createComputations = (maxRunning: number) =>
  createFairQueue({ maxRunning, maxWaiting: MAX_WAITING, createFullError: serviceUnavailable, share: 'time' });

async function withinItsLimit<T>(compute: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(serviceUnavailable()), COMPUTE_WITHIN_MS).unref();
  try {
    return await compute(over.signal);
  } finally {
    clearTimeout(timer);
  }
}

function stillComputing(): ServiceError {
  const message = 'The waveform of this recording is still being computed. Retry shortly.';
  return new ServiceError('SERVICE_UNAVAILABLE', message, {}, RETRY_AFTER_SECONDS);
}
