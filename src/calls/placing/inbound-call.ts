import { createHmac } from 'node:crypto';
import { InboundCallForm, InboundCallQuery } from '../../telephony/twilio/forms.js';
import type { Config } from '../../platform/config/config.js';
import { ServiceError } from '../../kernel/errors.js';
import { encodeCrockford, type Mode } from '../../kernel/ids.js';
import { refuseEngine } from '../../agents/agent-rules.js';
import type { CarrierBindings } from '../../telephony/carrier-bindings.js';
import type { AgentDocument } from '../../agents/model.js';
import type { CallRequestDocument } from '../call-request-model.js';
import type { ApiContext } from '../../platform/http/context.js';
import { deadlineOf, within } from '../../platform/http/deadline.js';
import type { Authenticator } from '../../identity/access/authentication.js';
import { fieldsOf, readForm, type FormFields } from '../../platform/http/form.js';
import { contentTypeOf } from '../../platform/http/raw-body.js';
import { presentFields, validated } from '../../platform/http/validation.js';
import { snapshotOfAgent } from '../../agents/agent-snapshot.js';
import { sendTwiml, streamTwiml } from '../../telephony/twilio/twiml.js';
import { requireCallSidOf } from '../callbacks/callback.js';
import { inboundAgent, type InboundAgentDeps } from './inbound-agent.js';
import { createRequireOwnCarrierCall, type OwnCarrierCallDeps } from './own-carrier-call.js';
import { refusalOfReservation, startCall, type CallStarter } from './start-call.js';

export interface InboundCallDeps extends CallStarter, InboundAgentDeps, OwnCarrierCallDeps {
  authenticator: Authenticator;
  bindings: CarrierBindings;
}

/** POST /inbound_call: the carrier's voice webhook. */
export function createInboundCall(deps: InboundCallDeps) {
  const requireOwnCarrierCall = createRequireOwnCarrierCall(deps);

  return async function receive(ctx: ApiContext): Promise<void> {
    const deadline = deadlineOf(ctx);
    let form: Promise<FormFields> | undefined;
    const readOnce = (signal?: AbortSignal) => (form ??= readForm(ctx.req, signal));
    const forwarder = await deps.authenticator.byKeyOrCarrier(ctx, readOnce);
    if (contentTypeOf(ctx.req).type !== 'application/x-www-form-urlencoded') {
      throw new ServiceError('MISSING_PARAMS', 'The request body must be application/x-www-form-urlencoded.');
    }
    const query = validated(InboundCallQuery, presentFields(fieldsOf(ctx.querystring)));
    const fields = validated(InboundCallForm, presentFields(await readOnce()));
    requireCallSidOf(deps.config, forwarder.mode, fields.CallSid);
    const agent = await within(
      deadline,
      inboundAgent(deps, forwarder, {
        agentId: query.agent_id ?? fields.agent_id,
        forwardedFrom: fields.ForwardedFrom,
      }),
    );
    if (forwarder.mode === 'live') refuseEngine(agent.engine, deps.config);
    const request = callRequestOf(deps.config, forwarder.mode, agent, fields);
    // A repeat is about a call that was checked, and may be over by now.
    const isRepeat = (await within(deadline, deps.bindings.find(request._id))) !== null;
    if (!isRepeat) await requireOwnCarrierCall(forwarder, fields, deadline);
    await within(deadline, bind(deps.bindings, request._id, fields.CallSid));
    const refusal = refusalOfReservation(await startCall(deps, request, deadline));
    if (refusal) throw refusal;
    sendTwiml(ctx, streamTwiml(deps.config, request._id));
  };
}

/**
 * The same id for every delivery of one webhook, so that a repeat finds the call it is about. Keyed, so that nobody can
 * compute it from a CallSid.
 */
function inboundCallId(pepper: string, accountId: string, mode: Mode, callSid: string): string {
  const digest = createHmac('sha256', pepper).update(`inbound\n${accountId}\n${mode}\n${callSid}`).digest();
  return `call_${encodeCrockford(digest.subarray(0, 16))}`;
}

function callRequestOf(config: Config, mode: Mode, agent: AgentDocument, form: InboundCallForm): CallRequestDocument {
  return {
    _id: inboundCallId(config.apiKeyPepper, agent.accountId, mode, form.CallSid),
    accountId: agent.accountId,
    mode,
    direction: 'inbound',
    fromPhoneNumber: form.From,
    toPhoneNumber: form.To,
    agent: snapshotOfAgent(agent),
    inputParameters: '{}',
    externalCallId: form.external_call_id ?? '',
    ...(agent.webhookUrl === undefined ? {} : { webhookUrl: agent.webhookUrl }),
    ringTimeoutSeconds: agent.ringTimeoutSeconds,
    maxDurationSeconds: agent.maxDurationSeconds,
    microsPerSecond: config.calls.rates.inbound,
    carrierSid: form.CallSid,
    createdAt: new Date(),
  };
}

/** The media server and the status callbacks know the call by its CallSid from now on. */
async function bind(bindings: CarrierBindings, callId: string, callSid: string): Promise<void> {
  const standing = await bindings.bind(callId, callSid);
  if (standing.carrierSid !== callSid) {
    throw new ServiceError('MISSING_PARAMS', 'This CallSid belongs to another call.');
  }
}
