import { createHmac } from 'node:crypto';
import { InboundCallForm, InboundCallQuery } from '../../contract/inbound.js';
import type { Config } from '../../config.js';
import { ServiceError } from '../../domain/errors.js';
import { encodeCrockford, type Mode } from '../../domain/ids.js';
import { refuseEngine } from '../../store/agent-rules.js';
import type { CarrierBindings } from '../../store/carrier-bindings.js';
import type { AgentDocument } from '../../store/models/agent.js';
import type { CallRequestDocument } from '../../store/models/call-request.js';
import type { ApiContext } from '../context.js';
import { deadlineOf, within } from '../deadline.js';
import type { Authenticator } from '../middleware/authentication.js';
import { fieldsOf, readForm, type FormFields } from '../middleware/form.js';
import { contentTypeOf } from '../middleware/raw-body.js';
import { presentFields, validated } from '../middleware/validation.js';
import { sendTwiml, streamTwiml } from '../twiml.js';
import { requireCallSidOf } from '../carrier/callback.js';
import { inboundAgent, type InboundAgentDeps } from './inbound-agent.js';
import { snapshotOfAgent } from './outbound-request.js';
import { refusalOfReservation, startCall, type CallStarter } from './start-call.js';

export interface InboundCallDeps extends CallStarter, InboundAgentDeps {
  authenticator: Authenticator;
  bindings: CarrierBindings;
}

/** POST /inbound_call: the carrier's voice webhook. */
export function createInboundCall(deps: InboundCallDeps) {
  return async function receive(ctx: ApiContext): Promise<void> {
    const deadline = deadlineOf(ctx);
    let form: Promise<FormFields> | undefined;
    const readOnce = () => (form ??= readForm(ctx.req));
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
