import { mayBeSigned, signingMode } from '../../telephony/twilio/signing-mode.js';
import { CallbackIdentifiers } from '../../telephony/twilio/forms.js';
import type { CallRequests } from '../call-requests.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { Config } from '../../platform/config/config.js';
import { ServiceError } from '../../kernel/errors.js';
import { carrierIdentifiers } from '../../kernel/carrier-identifiers.js';
import { CALL_ID_PATTERN, type Mode } from '../../kernel/ids.js';
import type { ApiContext } from '../../platform/http/context.js';
import { within } from '../../platform/http/deadline.js';
import { readForm, type FormFields } from '../../platform/http/form.js';
import type { ReadSigned, SignedRequests } from '../../platform/http/signed-requests.js';
import { validated } from '../../platform/http/validation.js';

/** The carrier waits longer for us than clients do, and a call in its hands is worth a second try of the database. */
export const CALLBACK_ANSWER_WITHIN_MS = 4_000;

/** A request of the carrier whose signature is right. */
export interface Callback {
  mode: Mode;
  form: FormFields;
  /** The carrier's identifier of the call; empty when the request names none. */
  carrierSid: string;
}

/**
 * Reads and verifies a request of the carrier.
 * @throws ServiceError FORBIDDEN when no configured carrier account signed it, RATE_LIMIT_EXCEEDED when that happened too
 *   often, SERVICE_UNAVAILABLE when too many callbacks are in flight, MISSING_PARAMS when its CallSid is none of that
 *   carrier's, or what reading the form throws
 */
export async function verifiedCallback(
  ctx: ApiContext,
  deps: { config: Config; signedRequests: SignedRequests },
): Promise<Callback> {
  const { mode, form } = await deps.signedRequests.admit(ctx, (read) => readSignedForm(ctx, deps.config, read));
  const { CallSid: carrierSid = '' } = validated(CallbackIdentifiers, { CallSid: form['CallSid'] });
  if (carrierSid !== '') requireCallSidOf(deps.config, mode, carrierSid);
  return { mode, form, carrierSid };
}

/**
 * Answers a callback whose answer the carrier does not read: an empty 200 once the work is done.
 * @throws ServiceError as `verifiedCallback` does, and SERVICE_UNAVAILABLE, so that the carrier asks again, when the work is
 *   not done in time
 */
export async function answerCallback(
  ctx: ApiContext,
  deps: { config: Config; signedRequests: SignedRequests },
  work: (callback: Callback) => Promise<void>,
): Promise<void> {
  const callback = await verifiedCallback(ctx, deps);
  await within(ctx.state.arrivedAt + CALLBACK_ANSWER_WITHIN_MS, work(callback));
  ctx.status = 200;
  ctx.type = 'text/plain';
  ctx.body = '';
}

async function readSignedForm(
  ctx: ApiContext,
  config: Config,
  read: ReadSigned,
): Promise<Pick<Callback, 'mode' | 'form'>> {
  const forged = new ServiceError('FORBIDDEN', 'The carrier’s signature is missing or wrong.');
  // With a signature that fits nothing the body is not worth reading.
  if (!mayBeSigned(ctx)) throw forged;
  const form = await read((signal) => readForm(ctx.req, signal));
  const mode = signingMode(ctx, form, config);
  if (mode === undefined) throw forged;
  return { mode, form };
}

/**
 * Refuses an identifier that another carrier's adapter may accept, but not the one of the mode.
 * @throws ServiceError MISSING_PARAMS
 */
export function requireCallSidOf({ carriers }: Config, mode: Mode, callSid: string): void {
  const { kind } = carriers[mode];
  if (carrierIdentifiers(kind).call.test(callSid)) return;
  throw new ServiceError('MISSING_PARAMS', `CallSid must be an identifier of the ${mode} carrier (${kind}).`);
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
