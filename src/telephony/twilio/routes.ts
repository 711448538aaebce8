import { invalidBody, invalidParam } from '../../kernel/invalid-request.js';
import { z } from 'zod';
import type { Forwarder } from '../../identity/access/principal.js';
import type { ApiContext } from '../../platform/http/context.js';
import { fieldsOf, readSingleField, type FormFields } from '../../platform/http/form.js';
import { contentTypeOf } from '../../platform/http/raw-body.js';
import type { ReadSigned } from '../../platform/http/signed-requests.js';
import { bindRoutes } from '../../platform/http/routing/bound-route.js';
import type { Handlers } from '../../platform/http/routing/handlers.js';
import { presentFields, validated } from '../../platform/http/validation.js';
import { joinTraceOfCall } from '../../platform/telemetry/spans.js';
import { createCallbackGate, type VerifiedRequest } from '../callback-gate.js';
import type { InboundCall, CallInstruction, CarrierCallRef, EndedStream, ResponseContext } from '../callbacks.js';
import type { CallbackDeps, Carrier, CarrierContract } from '../port.js';
import { TWILIO_API, twilioCallbackRoutes, twilioInboundRoute } from './contract.js';
import { InboundCallForm, InboundCallQuery } from './forms.js';
import {
  parseAnsweredBy,
  parseAnsweredTransfer,
  parseFailedRequest,
  parseStatusReport,
  parseStreamNumber,
  parseTransferConnected,
  type FailedRequest,
} from './reports.js';
import { parseForm } from './signed-forms.js';

/** A callback with the call's id in its path. */
interface CallCallback {
  ctx: ApiContext;
  params: { call_id: string };
}

type CallbackRoute = (typeof twilioCallbackRoutes)[keyof typeof twilioCallbackRoutes];

type Gate = ReturnType<typeof createCallbackGate>;

/** A callback with a valid signature. */
interface Callback {
  carrierCall: CarrierCallRef & { carrier: Carrier };
  form: FormFields;
}

/** Twilio's requests: its voice webhook and its callbacks. */
export const TWILIO_CONTRACT: CarrierContract = {
  api: TWILIO_API,
  createRoutes: (deps) => [
    ...bindRoutes(twilioInboundRoute, { receiveCall: createReceiveCall(deps) }),
    ...bindRoutes(twilioCallbackRoutes, createCallbackHandlers(deps)),
  ],
};

function createCallbackHandlers(deps: CallbackDeps): Handlers<typeof twilioCallbackRoutes> {
  const { events, instructions } = deps;
  const gate = createCallbackGate(deps);

  /**
   * Returns a function that reads and verifies the callbacks of a route. Of the form, only CallSid is validated: a
   * callback is never rejected because of another field.
   * @throws ServiceError as `admit` does, and MISSING_PARAMS when CallSid is malformed
   */
  function verifying({ body }: CallbackRoute, admit: Gate['admit'] = gate.admit) {
    const identifiers = z.object({ CallSid: body.schema.shape.CallSid });
    return async (ctx: ApiContext): Promise<Callback> => {
      const { mode, carrier, request } = await admit(ctx);
      const form = parseForm(request);
      const { CallSid: carrierSid = '' } = validated(identifiers, { CallSid: form['CallSid'] });
      return { carrierCall: { mode, carrier, carrierSid }, form };
    };
  }

  function acknowledging(
    route: CallbackRoute,
    work: (callback: Callback, callId: string) => Promise<void> | undefined,
  ) {
    const verify = verifying(route);
    return async ({ ctx, params }: CallCallback) => {
      const callback = await verify(ctx);
      joinTraceOfCall(params.call_id);
      return gate.acknowledge(ctx, work(callback, params.call_id));
    };
  }

  function instructing(
    route: CallbackRoute,
    decide: (callback: Callback, callId: string, ctx: ApiContext) => Promise<CallInstruction>,
    admit?: Gate['admit'],
  ) {
    const verify = verifying(route, admit);
    return async ({ ctx, params }: CallCallback) => {
      const callback = await verify(ctx);
      joinTraceOfCall(params.call_id);
      const instruction = await decide(callback, params.call_id, ctx);
      return callback.carrierCall.carrier.render(instruction).body;
    };
  }

  const {
    answerOutboundCall,
    reportOutboundStatus,
    reportAnsweredBy,
    reportTransferStatus,
    reportInboundStatus,
    continueAfterStream,
    continueAfterError,
  } = twilioCallbackRoutes;
  const verifyInboundStatus = verifying(reportInboundStatus);

  return {
    answerOutboundCall: instructing(answerOutboundCall, ({ carrierCall }, callId, ctx) =>
      instructions.answerOutboundCall(callId, carrierCall, gate.responseContext(ctx)),
    ),
    reportOutboundStatus: acknowledging(reportOutboundStatus, ({ carrierCall, form }, callId) =>
      events.handleStatus(callId, carrierCall, parseStatusReport(carrierCall.carrierSid, form, Date.now())),
    ),
    reportAnsweredBy: acknowledging(reportAnsweredBy, ({ carrierCall, form }, callId) => {
      const answeredBy = parseAnsweredBy(readSingleField(form, 'AnsweredBy'));
      return answeredBy && events.recordAnsweredBy(callId, carrierCall, answeredBy);
    }),
    reportTransferStatus: acknowledging(reportTransferStatus, ({ carrierCall, form }, callId) => {
      const parentSid = parseAnsweredTransfer(form);
      if (parentSid === undefined || !carrierCall.carrier.isCallId(parentSid)) return undefined;
      return events.recordTransferAnswer(callId, { ...carrierCall, carrierSid: parentSid });
    }),
    reportInboundStatus: async ({ ctx }) => {
      const { carrierCall, form } = await verifyInboundStatus(ctx);
      const report = parseStatusReport(carrierCall.carrierSid, form, Date.now());
      return gate.acknowledge(ctx, events.handleStatusBySid(carrierCall, report));
    },
    continueAfterStream: instructing(
      continueAfterStream,
      ({ carrierCall, form }, callId, ctx) => {
        const ended = endedStream(parseStreamNumber(ctx.query['after']), form);
        return instructions.continueAfterStream(callId, carrierCall, ended, gate.lostStreamContext(ctx));
      },
      gate.admitLostStream,
    ),
    continueAfterError: instructing(
      continueAfterError,
      ({ carrierCall, form }, callId, ctx) =>
        repeatInstruction(deps, { carrierCall, form }, callId, (after) =>
          after === 'answer' ? gate.responseContext(ctx) : gate.lostStreamContext(ctx),
        ),
      gate.admitLostStream,
    ),
  };
}

/** Repeats the instruction that the carrier could not use. */
function repeatInstruction(
  { instructions, logger }: CallbackDeps,
  { carrierCall, form }: Callback,
  callId: string,
  contextOf: (after: FailedRequest['kind']) => ResponseContext,
): Promise<CallInstruction> {
  const failed = parseFailedRequest(form);
  const context = contextOf(failed.kind);
  const carrierError = readSingleField(form, 'ErrorCode')?.slice(0, 10);
  logger.warn({ callId, failed: failed.kind, carrierError }, 'carrier could not use our instructions and asks again');
  if (failed.kind === 'answer') return instructions.answerOutboundCall(callId, carrierCall, context);
  const ended = { ...endedStream(failed.streamNumber, form), isFallback: true as const };
  return instructions.continueAfterStream(callId, carrierCall, ended, context);
}

function endedStream(streamNumber: number, form: FormFields): EndedStream {
  const transferConnected = parseTransferConnected(form);
  return { streamNumber, ...(transferConnected === undefined ? {} : { transferConnected }) };
}

const ERROR_MESSAGES = {
  notOwnCall:
    'CallSid must identify a live inbound call to the number To, and To or ForwardedFrom must be a number of this account.',
  belongsToAnotherCall: 'CallSid belongs to another call.',
};

/** Handles POST /inbound_call, which the carrier has signed, or the owner of an API key has forwarded. */
function createReceiveCall(deps: CallbackDeps): Handlers<typeof twilioInboundRoute>['receiveCall'] {
  const { authenticator, instructions } = deps;
  const gate = createCallbackGate(deps);

  return async ({ ctx }) => {
    let body: Promise<Buffer> | undefined;
    let signer: VerifiedRequest | undefined;
    const readBodyOnce = (signal?: AbortSignal) => (body ??= gate.readRawBody(ctx, signal));
    async function verifySigner(read: ReadSigned) {
      signer = gate.findSigner(ctx, await read(readBodyOnce));
      // A flood of calls to one number takes its turn with the calls to others.
      return signer && { ...signer, groups: ['inbound', readSingleField(parseForm(signer.request), 'To') ?? ''] };
    }
    const verify = gate.mayBeSigned(ctx) ? verifySigner : undefined;
    const markup = await gate.decideInboundCall(ctx, {
      identifySender: () => authenticator.byKeyOrCarrier(ctx, verify),
      decide: async (forwarder, deadline) => {
        const carrierOf = (accountSid: string | undefined) => signer?.carrier ?? requireCarrier(forwarder, accountSid);
        const call = await readInboundCall(ctx, { forwarder, carrierOf, read: readBodyOnce });
        return call.carrier.render(await instructions.receiveCall(call, deadline));
      },
    });
    return markup.body;
  };

  /** @param accountSid the account that the owner of an API key names */
  function requireCarrier({ mode }: Forwarder, accountSid: string | undefined): Carrier {
    const carrier = gate.findAccount(mode, accountSid);
    if (carrier !== undefined) return carrier;
    throw invalidParam('CallSid', `CallSid must be a call identifier of the ${mode} carrier.`);
  }
}

/** @throws ServiceError MISSING_PARAMS, or what reading the body throws */
async function readInboundCall(
  ctx: ApiContext,
  {
    forwarder,
    carrierOf,
    read,
  }: {
    forwarder: Forwarder;
    carrierOf: (accountSid: string | undefined) => Carrier;
    read: () => Promise<Buffer>;
  },
): Promise<InboundCall & { carrier: Carrier }> {
  if (contentTypeOf(ctx.req).type !== 'application/x-www-form-urlencoded') {
    throw invalidBody('body_unreadable', 'The request body must be application/x-www-form-urlencoded.');
  }
  const query = validated(InboundCallQuery, presentFields(fieldsOf(ctx.querystring)));
  const fields = validated(InboundCallForm, presentFields(fieldsOf((await read()).toString('utf8'))));
  return {
    mode: forwarder.mode,
    carrier: carrierOf(fields.AccountSid),
    carrierSid: fields.CallSid,
    forwarder,
    from: fields.From,
    to: fields.To,
    forwardedFrom: fields.ForwardedFrom,
    agentId: query.agent_id ?? fields.agent_id,
    externalCallId: fields.external_call_id,
    requestId: ctx.state.requestId,
    onCallId: (callId) => void (ctx.state.callId = callId),
    errorMessages: ERROR_MESSAGES,
  };
}
