import { ServiceError } from '../kernel/errors.js';
import type { Mode } from '../kernel/ids.js';
import type { ApiContext } from '../platform/http/context.js';
import { deadlineOf, within } from '../platform/http/deadline.js';
import { content } from '../platform/http/routing/answer.js';
import { readBody } from '../platform/http/raw-body.js';
import type { ReadSigned } from '../platform/http/signed-requests.js';
import { keyOf } from '../identity/access/identification.js';
import type { Forwarder } from '../identity/access/principal.js';
import type { AnswerTerms, CarrierRequest, Markup } from './callbacks.js';
import type { CallbackDeps, Carrier } from './port.js';

/** Longer than for API clients: carriers wait longer, and a call in progress is worth a second database attempt. */
const CALLBACK_ANSWER_WITHIN_MS = 4_000;

/** A call that has lost its stream ends unless we tell how it goes on. The carrier waits 15 s for the answer. */
const LOST_STREAM_ANSWER_WITHIN_MS = 12_000;

const MAX_CALLBACK_BYTES = 64 * 1_024;

/** A request made by one of our carrier accounts. */
export interface VerifiedRequest {
  mode: Mode;
  carrier: Carrier;
  request: CarrierRequest;
}

/** Reads, verifies and answers the requests of one kind of carrier. */
export function createCallbackGate({ carriers, publicBaseUrl, signedRequests, logger }: CallbackDeps) {
  const accounts = (['live', 'test'] as const).flatMap((mode) => {
    const carrier = carriers[mode];
    return carrier === undefined ? [] : [{ mode, carrier }];
  });

  /** Reads the raw body. It is not decompressed because the sender is not authenticated yet. */
  function read(ctx: ApiContext, signal?: AbortSignal): Promise<Buffer> {
    return readBody(ctx.req, { limit: MAX_CALLBACK_BYTES, decompress: false, ...(signal && { signal }) });
  }

  function mayBeSigned(ctx: ApiContext): boolean {
    return accounts.some(({ carrier }) => carrier.mayBeSigned(ctx.headers));
  }

  /** Finds the account that signed the request; undefined when none did. */
  function signerOf(ctx: ApiContext, body: Buffer): VerifiedRequest | undefined {
    const request = { url: `${publicBaseUrl}${ctx.req.url ?? ''}`, headers: ctx.headers, body };
    const account = accounts.find(({ carrier }) => carrier.isSigned(request));
    return account && { ...account, request };
  }

  async function verified(ctx: ApiContext, readSigned: ReadSigned): Promise<VerifiedRequest> {
    const forged = new ServiceError('FORBIDDEN', 'The carrier’s signature is missing or wrong.');
    // Do not read the body if the signature cannot be valid.
    if (!mayBeSigned(ctx)) throw forged;
    const signed = signerOf(ctx, await readSigned((signal) => read(ctx, signal)));
    if (signed === undefined) throw forged;
    return signed;
  }

  function terms(ctx: ApiContext, withinMs = CALLBACK_ANSWER_WITHIN_MS): AnswerTerms {
    return { deadline: deadlineOf(ctx, withinMs), requestId: ctx.state.requestId };
  }

  /** The carrier that a call without an API key claims to come from, judging by its headers alone. */
  function claimedCarrier(ctx: ApiContext): Carrier | undefined {
    if (keyOf(ctx, true) !== undefined) return undefined;
    return accounts.find(({ carrier }) => carrier.mayBeSigned(ctx.headers))?.carrier;
  }

  function logRejection({ state: { requestId } }: ApiContext, error: unknown, isVerified: boolean): void {
    if (!isVerified) {
      // The sender is not verified, so log only problems on our side above debug level.
      const code = error instanceof ServiceError ? error.code : undefined;
      const isOurs = code === undefined || code === 'SERVICE_UNAVAILABLE';
      logger[isOurs ? 'warn' : 'debug'](
        { requestId, code, err: error },
        'an inbound call was rejected before it was admitted',
      );
      return;
    }
    if (!(error instanceof ServiceError) || error.code === 'SERVICE_UNAVAILABLE') {
      logger.error({ requestId, err: error }, 'an inbound call could not be decided and was rejected');
      return;
    }
    // The operator configures these calls at the carrier, which no longer receives the error. None of these error
    // messages contains a value from the request.
    logger.warn({ requestId, code: error.code, reason: error.message }, 'an inbound call was rejected');
  }

  return {
    read,
    mayBeSigned,
    signerOf,

    /**
     * Reads and verifies a request of the carrier.
     * @throws ServiceError FORBIDDEN when no configured carrier account made it, RATE_LIMIT_EXCEEDED after too many
     *   such requests, SERVICE_UNAVAILABLE when too many callbacks are in flight, or any error of reading the body
     */
    admit(ctx: ApiContext): Promise<VerifiedRequest> {
      return signedRequests.admit(ctx, (readSigned) => verified(ctx, readSigned));
    },

    /** The deadline and the request id of a callback. */
    terms: (ctx: ApiContext) => terms(ctx),

    /** The same for the question how a call goes on that has lost its stream: there is more time. */
    termsOfLostStream: (ctx: ApiContext) => terms(ctx, LOST_STREAM_ANSWER_WITHIN_MS),

    /**
     * Decides what to do with an incoming call. If the carrier sent the webhook, or may have sent it, any error rejects the
     * call: a carrier answers a call whose webhook fails, and bills it.
     * @param p.bringer finds out who sent the request
     * @param p.decide returns the carrier's instruction by the deadline, ms since the epoch
     * @throws ServiceError from `bringer` and `decide` if the owner of an API key sent the request, and from `bringer` if
     *   the signature is wrong
     */
    async arrival(
      ctx: ApiContext,
      p: { bringer: () => Promise<Forwarder>; decide: (forwarder: Forwarder, deadline: number) => Promise<Markup> },
    ): Promise<Markup> {
      const carrier = claimedCarrier(ctx);
      if (carrier === undefined) return p.decide(await p.bringer(), deadlineOf(ctx));
      let isVerified = false;
      try {
        const forwarder = await p.bringer();
        isVerified = true;
        return await p.decide(forwarder, terms(ctx).deadline);
      } catch (error) {
        if (!isVerified && isForgers(error)) throw error;
        logRejection(ctx, error, isVerified);
        return carrier.render({ kind: 'reject' });
      }
    },

    /**
     * Responds to a callback whose response body the carrier ignores: an empty 200 once the work is done.
     * @throws ServiceError SERVICE_UNAVAILABLE, so that the carrier retries, when the work is not done in time
     */
    async acknowledge(ctx: ApiContext, work: Promise<void> | undefined) {
      if (work !== undefined) await within(deadlineOf(ctx, CALLBACK_ANSWER_WITHIN_MS), work);
      return content('text/plain; charset=utf-8', '');
    },
  };
}

/** Whether an error means that none of our carrier accounts made the request. */
function isForgers(error: unknown): boolean {
  return error instanceof ServiceError && ['UNAUTHORIZED', 'FORBIDDEN', 'RATE_LIMIT_EXCEEDED'].includes(error.code);
}
