import type { CallRequests } from '../../store/call-requests.js';
import type { CallRequestDocument } from '../../store/models/call-request.js';
import type { Config } from '../../config.js';
import { ServiceError } from '../../domain/errors.js';
import { CALL_ID_PATTERN, type Mode } from '../../domain/ids.js';
import type { ApiContext } from '../context.js';
import { signingMode } from '../middleware/authentication.js';
import { readForm, single, type FormFields } from '../middleware/form.js';

/** The carrier waits longer for us than clients do, and a call in its hands is worth a second try of the database. */
export const CALLBACK_ANSWER_WITHIN_MS = 4_000;

/** A request of the carrier whose signature is right. */
export interface Callback {
  mode: Mode;
  form: FormFields;
  carrierSid: string;
}

/**
 * Reads and verifies a request of the carrier.
 * @throws ServiceError FORBIDDEN when no configured carrier account signed it, PAYLOAD_TOO_LARGE
 */
export async function verifiedCallback(ctx: ApiContext, config: Config): Promise<Callback> {
  const form = await readForm(ctx.req);
  const mode = signingMode(ctx, form, config);
  if (mode === undefined) throw new ServiceError('FORBIDDEN', 'The carrier’s signature is missing or wrong.');
  return { mode, form, carrierSid: single(form, 'CallSid') ?? '' };
}

/**
 * The call a callback is about; undefined when there is none, or when it belongs to the other mode: the carrier account of
 * one mode has no say in the calls of the other.
 */
export async function calledRequest(
  requests: CallRequests,
  callId: string,
  mode: Mode,
): Promise<CallRequestDocument | undefined> {
  if (!CALL_ID_PATTERN.test(callId)) return undefined;
  const request = await requests.find(callId);
  return request?.mode === mode ? request : undefined;
}
