import { ulid } from 'ulid';
import { accessIdOf } from '../../identity/access/lost-access.js';
import type { MemberPrincipal, Principal, RouteHandlers } from '../../identity/access/principal.js';
import { deadlineOf, withDeadline } from '../../platform/http/deadline.js';
import { respond } from '../../platform/http/routing/response.js';
import { assertWebhookUrl } from '../../platform/egress/webhook-url.js';
import { createCarrierBindings, type CarrierBindings } from '../../telephony/carrier-bindings.js';
import { createWebCarrier } from '../../telephony/web/carrier.js';
import { firstTokenMs, legIdOf } from '../../telephony/web/leg.js';
import { createWebLegs, type WebLegs } from '../../telephony/web/legs.js';
import { createLegTokens, hashOfToken } from '../../telephony/web/tokens.js';
import { browserUrlOf } from '../../voice/web/browser-sockets.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { CallsDatabase } from '../database.js';
import { decideWithinLimits, type DecisionLimitDeps } from '../placing/decision-limits.js';
import { createConducted, type OutboundDeps } from '../placing/outbound-request.js';
import { predictRejection, type PredictRejectionDeps } from '../placing/predict-rejection.js';
import { reportDecision } from '../placing/report-decision.js';
import { countAndStartCall, countPromptBytes, reservationError, type CallStarter } from '../placing/start-call.js';
import type { WebCallRequest, webCallRoutes } from './contract.js';
import { createDraft } from './draft.js';

/** The number of a browser in calls, and the number that it calls. */
const WEB = 'web';
/** Maximum characters of the caller's name. */
const MAX_NAME = 100;
/** How much longer the workflow waits for the first stream than the first token is valid, in ms. */
const STREAM_MARGIN_MS = 5_000;

export interface WebCallDeps extends OutboundDeps, CallStarter, PredictRejectionDeps, DecisionLimitDeps {
  database: CallsDatabase;
}

/** Handler of POST /web_calls. */
export function createWebCallHandlers(deps: WebCallDeps): RouteHandlers<typeof webCallRoutes> {
  const { config, database } = deps;
  const tokens = createLegTokens(config);
  const stores = { bindings: createCarrierBindings(database), legs: createWebLegs(database) };

  /** @throws ServiceError if the call is rejected, CallServiceUnavailable */
  async function place(
    principal: Principal,
    body: WebCallRequest,
    { deadline, requestId, onCallId }: { deadline: number; requestId: string; onCallId: (callId: string) => void },
  ): Promise<{ callId: string; token: string }> {
    const tokenMs = firstTokenMs();
    const call = await withDeadline(deadline, createRequestDocument(deps, principal, body, { tokenMs, requestId }));
    onCallId(call._id);
    const { rejection: predicted, ledgerEpoch } = await withDeadline(deadline, predictRejection(deps, principal, call));
    const token = tokens.issue(call._id);
    const reservation =
      predicted ??
      (await decideWithinLimits(deps, principal, call, () =>
        countAndStartCall(deps, call, deadline, {
          ...countsOf(deps, stores, { principal, call, token, tokenMs }),
          ledgerEpoch,
        }),
      ));
    const rejection = reservationError(reservation);
    if (rejection !== undefined) throw rejection;
    return { callId: call._id, token };
  }

  return {
    async createWebCall({ ctx, principal, body }) {
      assertWebhookUrl(body.webhook_url, config);
      const deadline = deadlineOf(ctx);
      const { state } = ctx;
      const onCallId = (id: string) => void (state.callId = id);
      const { callId, token } = await reportDecision(principal.mode, () =>
        place(principal, body, { deadline, requestId: state.requestId, onCallId }),
      );
      const webCall = { call_id: callId, url: browserUrlOf(config.streamUrl, callId), token };
      return respond(webCall, { target: callId });
    },
  };
}

/** Counts and stores the call before its workflow starts, and reverts that if the call is not accepted. */
function countsOf(
  { dialGate }: WebCallDeps,
  { bindings, legs }: { bindings: CarrierBindings; legs: WebLegs },
  {
    principal,
    call,
    token,
    tokenMs,
  }: { principal: Principal; call: CallRequestDocument; token: string; tokenMs: number },
) {
  const { account, mode } = principal;
  const { _id: callId } = call;
  const received = { account, mode, callId, promptBytes: countPromptBytes(call) };
  return {
    async add() {
      const reached = await dialGate.admitReceived(received);
      if (reached) throw reached;
      const openedBy = accessIdOf(principal);
      await legs.create({ callId, accountId: account._id, mode, openedBy, tokenHash: hashOfToken(token), tokenMs });
      await bindings.bind(callId, legIdOf(callId), createWebCarrier({ legs, mode }));
    },
    async remove() {
      await dialGate.withdrawReceived(received);
      await legs.remove(callId);
    },
  };
}

async function createRequestDocument(
  deps: WebCallDeps,
  principal: Principal,
  request: WebCallRequest,
  { tokenMs, requestId }: { tokenMs: number; requestId: string },
): Promise<CallRequestDocument> {
  const { agent: draft, ...conducted } = request;
  const { call } = await createConducted(deps, principal, conducted, (stored) =>
    draft === undefined ? Promise.resolve(stored) : createDraft(deps, principal, draft, stored),
  );
  // A browser cannot be connected to a phone.
  const { transferNumbers: _unused, ...agent } = call.agent;
  const callId = `call_${ulid()}`;
  return {
    _id: callId,
    ...call,
    agent,
    direction: 'inbound',
    fromPhoneNumber: `${WEB}:${nameOf(principal)}`,
    toPhoneNumber: WEB,
    microsPerSecond: deps.config.calls.rates.inbound,
    carrierSid: legIdOf(callId),
    streamWithinMs: tokenMs + STREAM_MARGIN_MS,
    requestId,
    createdAt: new Date(),
  };
}

/** The name of the key or member. It is sent to webhooks, so an e-mail address does not stand in for a missing name. */
function nameOf(principal: Principal): string {
  const { actor } = principal;
  const name = actor.kind === 'key' ? actor.name : (principal as MemberPrincipal).user.name || 'member';
  return name.slice(0, MAX_NAME);
}
