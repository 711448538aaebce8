import { AccountFrozenError, ServiceError } from '../kernel/errors.js';
import type { Logger } from '../platform/telemetry/logger.js';
import { report } from '../platform/telemetry/measurements.js';
import type { Mode } from '../kernel/ids.js';
import type { ApiContext } from '../platform/http/context.js';
import { deadlineOf, withDeadline } from '../platform/http/deadline.js';
import { content } from '../platform/http/routing/response.js';
import { readBody } from '../platform/http/raw-body.js';
import type { ReadSigned } from '../platform/http/signed-requests.js';
import { keyOf } from '../identity/access/identification.js';
import type { Forwarder } from '../identity/access/principal.js';
import type { ResponseContext, CarrierRequest, Markup } from './callbacks.js';
import type { CallbackDeps, Carrier } from './port.js';

/**
 * Time limit of a response to a carrier. It is longer than for API clients, because carriers wait longer, and because a
 * call in progress is worth a second attempt to reach the database.
 */
const CALLBACK_TIMEOUT_MS = 4_000;

/**
 * Time limit of the response when a call has lost its stream. The call ends unless we send new instructions within the
 * 15 s that the carrier waits.
 */
const LOST_STREAM_TIMEOUT_MS = 12_000;

/** How long such a request waits for others of its carrier account. */
const LOST_STREAM_WAIT_MS = LOST_STREAM_TIMEOUT_MS / 2;

const MAX_CALLBACK_BYTES = 64 * 1_024;

/** A request made by one of our carrier accounts. */
export interface VerifiedRequest {
  mode: Mode;
  carrier: Carrier;
  request: CarrierRequest;
  /** The account's id, if it is one of several in live mode, which share a process. */
  sender?: string | undefined;
}

/** Reads, verifies and answers the requests of one kind of carrier. */
export function createCallbackGate({ carriers, publicBaseUrl, signedRequests, logger }: CallbackDeps) {
  const ofMode = (mode: Mode, ofThis: readonly (Carrier | undefined)[]) =>
    ofThis.flatMap((carrier) => (carrier === undefined ? [] : [{ mode, carrier }]));
  const accounts = [
    ...ofMode('live', [carriers.live, ...(carriers.further ?? [])]),
    ...ofMode('test', [carriers.test]),
  ];

  const isShared = (carriers.further ?? []).length > 0;

  /** Reads the raw body. It is not decompressed because the sender is not authenticated yet. */
  function readRawBody(ctx: ApiContext, signal?: AbortSignal): Promise<Buffer> {
    return readBody(ctx.req, { limit: MAX_CALLBACK_BYTES, decompress: false, ...(signal && { signal }) });
  }

  function mayBeSigned(ctx: ApiContext): boolean {
    return accounts.some(({ carrier }) => carrier.mayBeSigned(ctx.headers));
  }

  /** Finds the account that signed the request; undefined when none did. */
  function findSigner(ctx: ApiContext, body: Buffer): VerifiedRequest | undefined {
    const request = { url: `${publicBaseUrl}${ctx.req.url ?? ''}`, headers: ctx.headers, body };
    const account = accounts.find(({ carrier }) => carrier.isSigned(request));
    return account && { ...account, request, ...(isShared && { sender: account.carrier.account?.id }) };
  }

  async function verifyRequest(ctx: ApiContext, readSigned: ReadSigned): Promise<VerifiedRequest> {
    const invalidSignature = new ServiceError(
      'FORBIDDEN',
      'The signature header of the carrier is missing or invalid. Check PUBLIC_BASE_URL and the auth token of the carrier.',
    );
    // Do not read the body if the signature cannot be valid.
    if (!mayBeSigned(ctx)) throw invalidSignature;
    const signed = findSigner(ctx, await readSigned((signal) => readRawBody(ctx, signal)));
    if (signed === undefined) throw invalidSignature;
    return signed;
  }

  function responseContext(ctx: ApiContext, timeoutMs = CALLBACK_TIMEOUT_MS): ResponseContext {
    return { deadline: deadlineOf(ctx, timeoutMs), requestId: ctx.state.requestId };
  }

  /** Returns the carrier that an inbound call without an API key claims to come from, judging by the headers alone. */
  function claimedCarrier(ctx: ApiContext): Carrier | undefined {
    if (keyOf(ctx, true) !== undefined) return undefined;
    return accounts.find(({ carrier }) => carrier.mayBeSigned(ctx.headers))?.carrier;
  }

  return {
    readRawBody,
    mayBeSigned,
    findSigner,

    /**
     * Returns the carrier of the account with this id, by default of the first account of a mode; undefined if none is
     * configured here.
     */
    findAccount: (mode: Mode, carrierAccountId: string | undefined): Carrier | undefined => {
      const ofThisMode = accounts.filter((each) => each.mode === mode).map(({ carrier }) => carrier);
      return ofThisMode.find(({ account }) => account?.id === carrierAccountId) ?? ofThisMode[0];
    },

    /**
     * Reads and verifies a request of the carrier.
     * @throws ServiceError FORBIDDEN when no configured carrier account made it, RATE_LIMIT_EXCEEDED after too many
     *   such requests, SERVICE_UNAVAILABLE when too many callbacks are in flight, or any error of reading the body
     */
    admit: (ctx: ApiContext) => signedRequests.admit(ctx, (read) => verifyRequest(ctx, read), SHARING),

    /** Does the same as `admit` for a call that has lost its stream, which may wait longer. */
    admitLostStream: (ctx: ApiContext) =>
      signedRequests.admit(ctx, (read) => verifyRequest(ctx, read), { ...SHARING, maxWaitMs: LOST_STREAM_WAIT_MS }),

    /** Returns the deadline and the request id of a callback. */
    responseContext: (ctx: ApiContext) => responseContext(ctx),

    /** Returns the same as `responseContext`, with a later deadline, for a call that has lost its stream. */
    lostStreamContext: (ctx: ApiContext) => responseContext(ctx, LOST_STREAM_TIMEOUT_MS),

    /**
     * Decides what to do with an inbound call. If the carrier sent the request, or may have sent it, any error rejects
     * the call, because the carrier would answer and bill the call after an error response.
     * @param p.identifySender finds out who sent the request
     * @param p.decide returns the carrier's instruction by the deadline, ms since the epoch
     * @throws ServiceError from `identifySender` and `decide` if the owner of an API key sent the request; from
     * `identifySender` if the signature is wrong
     */
    async decideInboundCall(
      ctx: ApiContext,
      p: {
        identifySender: () => Promise<Forwarder>;
        decide: (forwarder: Forwarder, deadline: number) => Promise<Markup>;
      },
    ): Promise<Markup> {
      const carrier = claimedCarrier(ctx);
      if (carrier === undefined) return p.decide(await p.identifySender(), deadlineOf(ctx));
      let isVerified = false;
      try {
        const forwarder = await p.identifySender();
        isVerified = true;
        ctx.state.mode = forwarder.mode;
        return await p.decide(forwarder, responseContext(ctx).deadline);
      } catch (error) {
        if (!isVerified && isForgeryError(error)) throw error;
        reportRejection(ctx, { error, isVerified, logger });
        return carrier.render({ kind: 'reject' });
      }
    },

    /**
     * Responds to a callback when the work is done: with an empty 200, because the carrier ignores the response body.
     * @throws ServiceError SERVICE_UNAVAILABLE when the work is not done in time, so that the carrier retries
     */
    async acknowledge(ctx: ApiContext, work: Promise<void> | undefined) {
      if (work !== undefined) await withDeadline(deadlineOf(ctx, CALLBACK_TIMEOUT_MS), work);
      return content('text/plain; charset=utf-8', '');
    },
  };
}

/** Requests about calls in progress share the account fairly with its inbound calls. */
const SHARING = { senderOf: ({ sender }: VerifiedRequest) => sender, groupsOf: () => ['calls'] };

/** Whether an error means that none of our carrier accounts made the request. */
function isForgeryError(error: unknown): boolean {
  return error instanceof ServiceError && ['UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMIT_EXCEEDED'].includes(error.code);
}

/** Counts and logs an inbound call that is rejected. */
function reportRejection(
  { state }: ApiContext,
  { error, isVerified, logger }: { error: unknown; isVerified: boolean; logger: Logger },
): void {
  const { requestId, callId } = state;
  const mode = state.mode ?? 'none';
  const code = error instanceof ServiceError ? error.code : undefined;
  const isFrozen = error instanceof AccountFrozenError;
  const isOurs = code === undefined || (code === 'SERVICE_UNAVAILABLE' && !isFrozen);
  if (!isVerified) {
    // Anyone can cause these errors, so no alert counts them, and they are logged at debug level only, except for unexpected ones.
    report('inboundRejected', { mode, cause: 'unverified' });
    logger[code === undefined ? 'warn' : 'debug'](
      { requestId, callId, code, err: error },
      'inbound call rejected before verification',
    );
    return;
  }
  report('inboundRejected', { mode, cause: isOurs ? 'failure' : isFrozen ? 'frozen' : code });
  if (isOurs) {
    logger.error({ requestId, callId, err: error }, 'inbound call rejected after an internal failure');
    return;
  }
  // Log the error, because the response goes to the carrier, and the operator who configured this webhook at the
  // carrier does not see it. None of these messages contains a value from the request.
  logger.warn({ requestId, callId, code, reason: (error as ServiceError).message }, 'inbound call rejected');
}
