import { setTimeout as sleep } from 'node:timers/promises';
import type { Call } from '../calls/views/schemas.js';
import { ERRORS } from '../platform/http/contract/errors.js';
import { isFinalStatus } from '../kernel/call-state.js';
import type { ErrorCode } from '../kernel/errors.js';
import { ApiError, createApiError } from './api-error.js';
import type { Client } from './client.js';

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 8_000;
/** Number of consecutive failures, which take about half a minute, after which watching ends. */
const MAX_FAILURES = 7;

/**
 * Yields the current state of a call, and again after each change, until the call is final and the service ends the
 * stream. If the stream breaks or ends early, opens a new one.
 * @throws ApiError when the call cannot be read, or the service stays unreachable
 */
export async function* watchCall(client: Client, callId: string, signal?: AbortSignal): AsyncGenerator<Call> {
  let failures = 0;
  let last: Call | undefined;
  let lastEventId: string | undefined;
  while (last === undefined || !isFinalStatus(last.status)) {
    try {
      const from = { params: { call_id: callId }, lastEventId, ...(signal === undefined ? {} : { signal }) };
      for await (const { event, data, id } of client.events('/calls/{call_id}/events', from)) {
        failures = 0;
        lastEventId = id;
        if (event === 'end') throw endOf(data);
        if (event !== 'call') continue;
        last = callOf(data);
        yield last;
      }
      if (last === undefined || !isFinalStatus(last.status)) await sleep(FIRST_WAIT_MS);
    } catch (error) {
      if (signal?.aborted) return;
      if (!isTemporaryFailure(error) || ++failures >= MAX_FAILURES) throw error;
      const retryAfterMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
      const backoffMs = Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), MAX_WAIT_MS);
      await sleep(Math.max(backoffMs, Math.min(retryAfterMs, MAX_WAIT_MS)));
    }
  }
}

/** @throws ApiError when the connection broke in the middle of the event */
function callOf(data: string): Call {
  try {
    return JSON.parse(data) as Call;
  } catch {
    throw new ApiError(0, 'UNREACHABLE', 'The event stream was interrupted.');
  }
}

/** Converts an `end` event to an error. The service ends a stream with this event. */
function endOf(data: string): ApiError {
  let body: unknown;
  try {
    body = JSON.parse(data);
  } catch {
    body = undefined;
  }
  const code = typeof body === 'object' && body !== null ? Reflect.get(body, 'error_code') : undefined;
  return createApiError(Object.hasOwn(ERRORS, String(code)) ? ERRORS[code as ErrorCode].status : 0, body);
}

/** Whether the error is temporary, so that a retry may help. */
export function isTemporaryFailure(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500);
}
