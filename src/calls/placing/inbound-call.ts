import { createHmac } from 'node:crypto';
import type { Config } from '../../platform/config/config.js';
import { agentNotFound } from '../../agents/agents.js';
import { ServiceError } from '../../kernel/errors.js';
import { encodeCrockford, type Mode } from '../../kernel/ids.js';
import { snapshotOfAgent } from '../../agents/agent-snapshot.js';
import { assertEngineAllowed } from '../../agents/agent-rules.js';
import { isOfAccount, storedAccount } from '../../telephony/accounts/account-of-call.js';
import type { InboundCall, CallInstructions } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { AgentDocument } from '../../agents/model.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import type { CallQueries } from '../call-queries.js';
import type { CallRequestDocument } from '../call-request-model.js';
import { withDeadline } from '../../platform/http/deadline.js';
import { joinTraceOfCall } from '../../platform/telemetry/spans.js';
import { decideWithinLimits, type DecisionLimitDeps } from './decision-limits.js';
import { predictRejection, type PredictRejectionDeps } from './predict-rejection.js';
import { findInboundAgent, type InboundAgentDeps } from './inbound-agent.js';
import { createRequireOwnCarrierCall, type OwnCarrierCallDeps } from './own-carrier-call.js';
import { countAndStartCall, countPromptBytes, reservationError, type CallStarter } from './start-call.js';

export interface InboundCallDeps
  extends CallStarter, InboundAgentDeps, OwnCarrierCallDeps, PredictRejectionDeps, DecisionLimitDeps {
  bindings: CarrierBindings;
  dialGate: DialGate;
  queries: CallQueries;
}

/** Handles an inbound call: finds its agent and starts the call. A repeated request finds the call already started. */
export function createReceiveCall(deps: InboundCallDeps): CallInstructions['receiveCall'] {
  const requireOwnCarrierCall = createRequireOwnCarrierCall(deps);

  return async (call, deadline) => {
    const { mode } = call;
    const agent = await withDeadline(deadline, findInboundAgent(deps, call));
    if (mode === 'live') assertEngineAllowed(agent.engine, deps.config);
    const request = createRequestDocument(deps.config, agent, call);
    call.onCallId?.(request._id);
    // A repeated request is for a call that was already checked, and that may have ended by now.
    const known = await withDeadline(deadline, deps.bindings.find(request._id));
    const isRepeat = known !== null;
    if (isRepeat && !isOfAccount(known, call.carrier.account)) {
      throw new ServiceError('MISSING_PARAMS', call.errorMessages.belongsToAnotherCall);
    }
    joinTraceOfCall(request._id, { begins: !isRepeat });
    const before = known?.rejection && reservationError(known.rejection);
    if (before) throw before;
    // Do not start an ended call again, which Temporal would do if it no longer stores the workflow. Media servers
    // reject the stream of an ended call.
    if (isRepeat && (await withDeadline(deadline, deps.queries.isFinal(request._id)))) {
      return { kind: 'stream', callId: request._id };
    }
    const account = await withDeadline(deadline, findPayer(deps, agent, call));
    if (!isRepeat) {
      // A call that is rejected anyway costs no request to the carrier.
      await rejectIfPredicted(deps, account, request, deadline);
      await requireOwnCarrierCall(request._id, call, deadline);
    }
    const received = { account, mode, callId: request._id, promptBytes: countPromptBytes(request) };
    const counts = {
      add: async () => {
        const reached = isRepeat ? undefined : await deps.dialGate.admitReceived(received);
        if (reached) throw reached;
        await bindCarrierCall(deps.bindings, request._id, call);
      },
      remove: () => deps.dialGate.withdrawReceived(received),
      // The carrier may have delivered the webhook again and got a stream. Otherwise it ends the call, or the workflow does
      // because no stream starts.
      mayHangUp: () => Promise.resolve(false),
    };
    const reservation = await decideWithinLimits(deps, { account, mode }, request, () =>
      countAndStartCall(deps, request, deadline, counts),
    );
    const rejection = reservationError(reservation);
    if (rejection === undefined) return { kind: 'stream', callId: request._id };
    if (reservation.outcome === 'refused') {
      // Store the rejection, because Temporal would start the call again once it no longer stores the workflow.
      const stored = deps.bindings.recordRejection(request._id, reservation);
      await withDeadline(deadline, stored).catch(() => undefined);
    }
    throw rejection;
  };
}

/** Returns the agent's account, which pays for the call. */
async function findPayer(
  { accounts }: InboundAgentDeps,
  { accountId }: AgentDocument,
  { forwarder }: InboundCall,
): Promise<AccountDocument> {
  if (forwarder.account?._id === accountId) return forwarder.account;
  const account = await accounts.find(accountId);
  if (account === null) throw agentNotFound();
  return account;
}

/**
 * Rejects a new call before anything is stored or started, if its reservation is sure to fail.
 * @throws ServiceError the rejection
 */
async function rejectIfPredicted(
  deps: InboundCallDeps,
  account: AccountDocument,
  request: CallRequestDocument,
  deadline: number,
): Promise<void> {
  const { mode } = request;
  const predicted = await withDeadline(deadline, predictRejection(deps, { account, mode }, request));
  const rejection = predicted.rejection && reservationError(predicted.rejection);
  if (!rejection) return;
  // If a concurrent delivery of the same webhook has taken the slot, this request is a repeat and not rejected.
  if ((await withDeadline(deadline, deps.bindings.find(request._id))) === null) throw rejection;
}

/**
 * Derives the call id, which is the same for every delivery of one webhook, so that a repeat finds its call. It is an
 * HMAC, so that others cannot compute it from the carrier's id.
 */
function inboundCallId(pepper: string, accountId: string, mode: Mode, carrierSid: string): string {
  const digest = createHmac('sha256', pepper).update(`inbound\n${accountId}\n${mode}\n${carrierSid}`).digest();
  return `call_${encodeCrockford(digest.subarray(0, 16))}`;
}

function createRequestDocument(config: Config, agent: AgentDocument, call: InboundCall): CallRequestDocument {
  const { mode, carrierSid } = call;
  return {
    _id: inboundCallId(config.stablePepper, agent.accountId, mode, carrierSid),
    accountId: agent.accountId,
    mode,
    direction: 'inbound',
    fromPhoneNumber: call.from,
    toPhoneNumber: call.to,
    agent: snapshotOfAgent(agent),
    inputParameters: '{}',
    externalCallId: call.externalCallId ?? '',
    ...(agent.webhookUrl === undefined ? {} : { webhookUrl: agent.webhookUrl }),
    ringTimeoutSeconds: agent.ringTimeoutSeconds,
    maxDurationSeconds: agent.maxDurationSeconds,
    microsPerSecond: config.calls.rates.inbound,
    carrierSid,
    ...storedAccount(call.carrier.account),
    requestId: call.requestId,
    createdAt: new Date(),
  };
}

/** Binds the call to the carrier's call. The media server and status callbacks find the call by the carrier's id. */
async function bindCarrierCall(
  bindings: CarrierBindings,
  callId: string,
  { carrier, carrierSid, errorMessages }: InboundCall,
): Promise<void> {
  const existing = await bindings.bind(callId, carrierSid, carrier);
  if (existing.carrierSid === carrierSid && isOfAccount(existing, carrier.account)) return;
  throw new ServiceError('MISSING_PARAMS', errorMessages.belongsToAnotherCall);
}
