import { createHmac } from 'node:crypto';
import type { Config } from '../../platform/config/config.js';
import { ServiceError } from '../../kernel/errors.js';
import { encodeCrockford, type Mode } from '../../kernel/ids.js';
import { snapshotOfAgent } from '../../agents/agent-snapshot.js';
import { refuseEngine } from '../../agents/agent-rules.js';
import type { ArrivedCall, CallInstructions } from '../../telephony/callbacks.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { DialGate } from '../../telephony/destinations/dial-gate.js';
import type { AgentDocument } from '../../agents/model.js';
import type { AccountDocument } from '../../identity/accounts/model.js';
import type { CallQueries } from '../call-queries.js';
import type { CallRequestDocument } from '../call-request-model.js';
import { within } from '../../platform/http/deadline.js';
import { decideBounded, type BoundedDecisionDeps } from './bounded-decision.js';
import { foreseenRefusal, type ForecastDeps } from './forecast.js';
import { inboundAgent, type InboundAgentDeps } from './inbound-agent.js';
import { createRequireOwnCarrierCall, type OwnCarrierCallDeps } from './own-carrier-call.js';
import { promptBytesOf, refusalOfReservation, startCall, type CallStarter } from './start-call.js';

export interface InboundCallDeps
  extends CallStarter, InboundAgentDeps, OwnCarrierCallDeps, ForecastDeps, BoundedDecisionDeps {
  bindings: CarrierBindings;
  dialGate: DialGate;
  queries: CallQueries;
}

/** Handles an arriving call: finds its agent and starts the call. A repeated request finds the started call. */
export function createReceiveCall(deps: InboundCallDeps): CallInstructions['arrived'] {
  const requireOwnCarrierCall = createRequireOwnCarrierCall(deps);

  return async (call, deadline) => {
    const { agentId, forwardedFrom, mode } = call;
    const agent = await within(deadline, inboundAgent(deps, call.forwarder, { agentId, forwardedFrom }));
    if (mode === 'live') refuseEngine(agent.engine, deps.config);
    const request = callRequestOf(deps.config, agent, call);
    // A repeated request is for a call that was already checked and may have ended by now.
    const isRepeat = (await within(deadline, deps.bindings.find(request._id))) !== null;
    // Temporal forgets a finished call after its retention and would start it anew. Media servers reject its stream.
    if (isRepeat && (await within(deadline, deps.queries.isFinal(request._id)))) {
      return { kind: 'stream', callId: request._id };
    }
    if (!isRepeat) await requireOwnCarrierCall(call, deadline);
    const account = await within(deadline, payerOf(deps, agent, call));
    if (!isRepeat) await refuseForeseen(deps, account, request, deadline);
    const answer = await decideBounded(deps, { account, mode }, request._id, async () => {
      if (!isRepeat) await count(deps, account, request, deadline);
      await within(deadline, bind(deps.bindings, request._id, call));
      return startCall(deps, request, deadline);
    });
    const refusal = refusalOfReservation(answer);
    if (refusal === undefined) return { kind: 'stream', callId: request._id };
    // If this fails, the call stays counted, which is the safe side.
    const received = { account, mode, callId: request._id, promptBytes: promptBytesOf(request) };
    const withdrawn = deps.dialGate.withdrawReceived(received);
    await within(deadline, withdrawn).catch(() => undefined);
    throw refusal;
  };
}

/** @throws ServiceError SPEND_LIMIT_EXCEEDED, RATE_LIMIT_EXCEEDED */
async function count(
  { dialGate }: InboundCallDeps,
  account: AccountDocument,
  request: CallRequestDocument,
  deadline: number,
): Promise<void> {
  const { mode, _id: callId } = request;
  const received = { account, mode, callId, promptBytes: promptBytesOf(request) };
  const reached = await within(deadline, dialGate.admitReceived(received));
  if (reached) throw reached;
}

/** The agent's account, which pays for the call. */
async function payerOf(
  { accounts }: InboundAgentDeps,
  { accountId }: AgentDocument,
  { forwarder }: ArrivedCall,
): Promise<AccountDocument> {
  if (forwarder.account?._id === accountId) return forwarder.account;
  const account = await accounts.find(accountId);
  if (account === null) throw new ServiceError('AGENT_NOT_FOUND', 'There is no agent with this agent_id.');
  return account;
}

/**
 * Rejects a new call that is sure to be refused, before anything is stored or started.
 * @throws ServiceError the refusal
 */
async function refuseForeseen(
  deps: InboundCallDeps,
  account: AccountDocument,
  request: CallRequestDocument,
  deadline: number,
): Promise<void> {
  const { mode } = request;
  const foreseen = await within(deadline, foreseenRefusal(deps, { account, mode }, request));
  const refusal = foreseen && refusalOfReservation(foreseen);
  if (!refusal) return;
  // A concurrent delivery of the same webhook may have taken the slot: then this one is a repeat.
  if ((await within(deadline, deps.bindings.find(request._id))) === null) throw refusal;
}

/**
 * The same id for every delivery of one webhook, so that a repeat finds its call. An HMAC, so that the id cannot be
 * computed from the carrier's id.
 */
function inboundCallId(pepper: string, accountId: string, mode: Mode, carrierSid: string): string {
  const digest = createHmac('sha256', pepper).update(`inbound\n${accountId}\n${mode}\n${carrierSid}`).digest();
  return `call_${encodeCrockford(digest.subarray(0, 16))}`;
}

function callRequestOf(config: Config, agent: AgentDocument, call: ArrivedCall): CallRequestDocument {
  const { mode, carrierSid } = call;
  return {
    _id: inboundCallId(config.apiKeyPepper, agent.accountId, mode, carrierSid),
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
    createdAt: new Date(),
  };
}

/** Binds the call to its carrier call, by whose id the media server and status callbacks find it. */
async function bind(
  bindings: CarrierBindings,
  callId: string,
  { carrier, carrierSid, wording }: ArrivedCall,
): Promise<void> {
  const standing = await bindings.bind(callId, carrierSid, carrier);
  if (standing.carrierSid !== carrierSid) throw new ServiceError('MISSING_PARAMS', wording.ofAnotherCall);
}
