import { ServiceError } from '../../kernel/errors.js';
import type { Forwarder } from '../../identity/access/principal.js';
import type { ApiContext } from '../../platform/http/context.js';
import { fieldsOf, single, type FormFields } from '../../platform/http/form.js';
import { contentTypeOf } from '../../platform/http/raw-body.js';
import type { ReadSigned } from '../../platform/http/signed-requests.js';
import { bindRoutes } from '../../platform/http/routing/bound-route.js';
import type { Handlers } from '../../platform/http/routing/handlers.js';
import { presentFields, validated } from '../../platform/http/validation.js';
import { createCallbackGate } from '../callback-gate.js';
import type { ArrivedCall, CallInstruction, CarrierCallRef } from '../callbacks.js';
import type { CallbackDeps, Carrier, CarrierContract } from '../port.js';
import { twilioCallbackRoutes, twilioInboundRoute } from './contract.js';
import { CallbackIdentifiers, InboundCallForm, InboundCallQuery } from './forms.js';
import { answeredByOf, answeredTransferOf, statusReportOf, transferConnectedOf } from './reports.js';
import { formOf } from './signed-forms.js';

/** Some callbacks have the call's id in their path. */
interface CallbackRequest {
  ctx: ApiContext;
  params?: { call_id: string };
}

/** A callback with a valid signature. */
interface Callback {
  told: CarrierCallRef & { carrier: Carrier };
  form: FormFields;
}

/** Twilio's requests: its voice webhook and its callbacks. */
export const TWILIO_CONTRACT: CarrierContract = {
  createRoutes: (deps) => [
    ...bindRoutes(twilioInboundRoute, { receiveCall: createReceiveCall(deps) }),
    ...bindRoutes(twilioCallbackRoutes, createCallbackHandlers(deps)),
  ],
};

function createCallbackHandlers(deps: CallbackDeps): Handlers<typeof twilioCallbackRoutes> {
  const { events, instructions } = deps;
  const gate = createCallbackGate(deps);

  /** @throws ServiceError as `admit` does, and MISSING_PARAMS when CallSid is malformed */
  async function verified(ctx: ApiContext): Promise<Callback> {
    const { mode, carrier, request } = await gate.admit(ctx);
    const form = formOf(request);
    const { CallSid: carrierSid = '' } = validated(CallbackIdentifiers, { CallSid: form['CallSid'] });
    return { told: { mode, carrier, carrierSid }, form };
  }

  function noting(work: (callback: Callback, callId: string) => Promise<void> | undefined) {
    return async ({ ctx, params }: CallbackRequest) =>
      gate.acknowledge(ctx, work(await verified(ctx), params?.call_id ?? ''));
  }

  function instructing(decide: (callback: Callback, callId: string, ctx: ApiContext) => Promise<CallInstruction>) {
    return async ({ ctx, params }: CallbackRequest) => {
      const callback = await verified(ctx);
      const instruction = await decide(callback, params?.call_id ?? '', ctx);
      return callback.told.carrier.render(instruction).body;
    };
  }

  return {
    answerOutboundCall: instructing(({ told }, callId, ctx) => instructions.answered(callId, told, gate.terms(ctx))),
    reportOutboundStatus: noting(({ told, form }, callId) =>
      events.statusOf(callId, told, statusReportOf(told.carrierSid, form, Date.now())),
    ),
    reportAnsweredBy: noting(({ told, form }, callId) => {
      const who = answeredByOf(single(form, 'AnsweredBy'));
      return who && events.answeredBy(callId, told, who);
    }),
    reportTransferStatus: noting(({ told, form }, callId) => {
      const parentSid = answeredTransferOf(form);
      if (parentSid === undefined || !told.carrier.isCallId(parentSid)) return undefined;
      return events.transferAnswered(callId, { ...told, carrierSid: parentSid });
    }),
    reportInboundStatus: noting(({ told, form }) =>
      events.status(told, statusReportOf(told.carrierSid, form, Date.now())),
    ),
    continueAfterStream: instructing(({ told, form }, callId, ctx) => {
      const transferConnected = transferConnectedOf(form);
      const ended = {
        after: streamNumber(ctx.query['after']),
        ...(transferConnected === undefined ? {} : { transferConnected }),
      };
      return instructions.streamEnded(callId, told, ended, gate.termsOfLostStream(ctx));
    }),
  };
}

const WORDING = {
  notOwn:
    'CallSid must name a live inbound call to the number To, and To or ForwardedFrom must be a number of this account.',
  ofAnotherCall: 'This CallSid belongs to another call.',
};

/** POST /inbound_call: signed by the carrier, or forwarded by the owner of an API key. */
function createReceiveCall(deps: CallbackDeps): Handlers<typeof twilioInboundRoute>['receiveCall'] {
  const { authenticator, instructions } = deps;
  const gate = createCallbackGate(deps);

  return async ({ ctx }) => {
    let body: Promise<Buffer> | undefined;
    const readOnce = (signal?: AbortSignal) => (body ??= gate.read(ctx, signal));
    const verify = gate.mayBeSigned(ctx)
      ? async (read: ReadSigned) => gate.signerOf(ctx, await read(readOnce))?.mode
      : undefined;
    const markup = await gate.arrival(ctx, {
      bringer: () => authenticator.byKeyOrCarrier(ctx, verify),
      decide: async (forwarder, deadline) => {
        const carrier = carrierOf(forwarder);
        const arrived = await arrivedCallOf(ctx, { forwarder, carrier, read: readOnce });
        return carrier.render(await instructions.arrived(arrived, deadline));
      },
    });
    return markup.body;
  };

  function carrierOf({ mode }: Forwarder): Carrier {
    const carrier = deps.carriers[mode];
    if (carrier !== undefined) return carrier;
    throw new ServiceError('MISSING_PARAMS', `CallSid must be an identifier of the ${mode} carrier, which is another.`);
  }
}

/** @throws ServiceError MISSING_PARAMS, or what reading the body throws */
async function arrivedCallOf(
  ctx: ApiContext,
  { forwarder, carrier, read }: { forwarder: Forwarder; carrier: Carrier; read: () => Promise<Buffer> },
): Promise<ArrivedCall> {
  if (contentTypeOf(ctx.req).type !== 'application/x-www-form-urlencoded') {
    throw new ServiceError('MISSING_PARAMS', 'The request body must be application/x-www-form-urlencoded.');
  }
  const query = validated(InboundCallQuery, presentFields(fieldsOf(ctx.querystring)));
  const fields = validated(InboundCallForm, presentFields(fieldsOf((await read()).toString('utf8'))));
  return {
    mode: forwarder.mode,
    carrier,
    carrierSid: fields.CallSid,
    forwarder,
    from: fields.From,
    to: fields.To,
    forwardedFrom: fields.ForwardedFrom,
    agentId: query.agent_id ?? fields.agent_id,
    externalCallId: fields.external_call_id,
    wording: WORDING,
  };
}

/** Returns the stream number that we wrote into the URL; 0, the first stream, for any other value. */
function streamNumber(text: string | string[] | undefined): number {
  return typeof text === 'string' && /^\d$/.test(text) ? Number(text) : 0;
}
