import { z } from 'zod';
import { ServiceError } from '../../../src/kernel/errors.js';
import { defineRoute } from '../../../src/platform/http/contract/route.js';
import type { Forwarder } from '../../../src/identity/access/principal.js';
import type { ApiContext } from '../../../src/platform/http/context.js';
import { content } from '../../../src/platform/http/routing/response.js';
import { bindRoutes } from '../../../src/platform/http/routing/bound-route.js';
import { createCallbackGate, type VerifiedRequest } from '../../../src/telephony/callback-gate.js';
import type { Markup, StatusReport } from '../../../src/telephony/callbacks.js';
import type { CarrierContract } from '../../../src/telephony/port.js';
import { UUID } from './codec';

const Notice = z.object({
  call: z.string().regex(UUID, 'call must be a UUID.'),
  state: z.enum(['ringing', 'talking', 'over']).optional(),
  outcome: z.enum(['completed', 'busy', 'no-answer', 'failed', 'canceled']).optional(),
  seconds: z.number().int().min(0).optional(),
  at: z.number().int().optional(),
  n: z.number().int().min(0).optional(),
  listener: z.enum(['person', 'machine']).optional(),
  other_side: z.enum(['answered', 'absent']).optional(),
  from: z.string().optional(),
  forwarded_by: z.string().optional(),
  agent_id: z.string().optional(),
  to: z.string().optional(),
});
export type Notice = z.infer<typeof Notice>;

const request = {
  method: 'post',
  tag: 'Carrier callbacks',
  summary: 'A request of the test carrier',
  auth: 'carrier',
  changes: 'mode',
  readsItself: true,
  body: { contentType: 'application/json', schema: Notice, examples: {} },
  success: { description: 'Done.', contentType: 'application/json', schema: z.unknown(), examples: {} },
  errors: [],
} as const;
const ofCall = { ...request, params: z.object({ call_id: z.string() }) };

const inbound = { receiveTestCall: defineRoute({ ...request, path: '/carriers/test/calls' }) };
const callbacks = {
  answerTestCall: defineRoute({ ...ofCall, path: '/carriers/test/calls/{call_id}/answer' }),
  continueTestCall: defineRoute({ ...ofCall, path: '/carriers/test/calls/{call_id}/next' }),
  reportTestCall: defineRoute({ ...ofCall, path: '/carriers/test/calls/{call_id}/events' }),
  reportReceivedTestCall: defineRoute({ ...request, path: '/carriers/test/events' }),
};

/** This carrier's part of the API. */
const TEST_API = {
  inbound,
  callbacks,
  securitySchemes: {
    testCarrierSignature: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Test-Signature',
      description: 'An Ed25519 signature over URL and body.',
    },
  },
} as const;

/** The routes of this carrier, which receive its callbacks in JSON. */
export const TEST_CONTRACT: CarrierContract = {
  api: TEST_API,
  createRoutes(deps) {
    const { events, instructions } = deps;
    const gate = createCallbackGate(deps);

    async function verified(ctx: ApiContext) {
      const { mode, carrier, request: told } = await gate.admit(ctx);
      const notice = noticeOf(told.body);
      return { mode, carrier, notice, ref: { mode, carrier, carrierSid: notice.call } };
    }

    return bindRoutes(
      { ...inbound, ...callbacks },
      {
        async answerTestCall({ ctx, params }) {
          const { ref, carrier } = await verified(ctx);
          return sent(
            carrier.render(await instructions.answerOutboundCall(params.call_id, ref, gate.responseContext(ctx))),
          );
        },

        async continueTestCall({ ctx, params }) {
          const { ref, carrier, notice } = await verified(ctx);
          const { other_side: otherSide } = notice;
          const ended = {
            streamNumber: Number(ctx.query['stream'] ?? 0),
            ...(otherSide === undefined ? {} : { transferConnected: otherSide === 'answered' }),
          };
          const context = gate.lostStreamContext(ctx);
          return sent(carrier.render(await instructions.continueAfterStream(params.call_id, ref, ended, context)));
        },

        async reportTestCall({ ctx, params: { call_id: callId } }) {
          const { ref, notice } = await verified(ctx);
          if (notice.listener !== undefined) {
            const who = notice.listener === 'person' ? ('human' as const) : ('voicemail' as const);
            return gate.acknowledge(ctx, events.recordAnsweredBy(callId, ref, who));
          }
          if (notice.other_side === 'answered') return gate.acknowledge(ctx, events.recordTransferAnswer(callId, ref));
          return gate.acknowledge(ctx, events.handleStatus(callId, ref, reportOf(notice)));
        },

        async reportReceivedTestCall({ ctx }) {
          const { ref, notice } = await verified(ctx);
          return gate.acknowledge(ctx, events.handleStatusBySid(ref, reportOf(notice)));
        },

        async receiveTestCall({ ctx }) {
          let admitted: VerifiedRequest | undefined;
          const identifySender = async () => {
            admitted = await gate.admit(ctx);
            return { mode: admitted.mode };
          };
          const decide = async (forwarder: Forwarder, deadline: number) => {
            const { mode, carrier, request: told } = admitted as VerifiedRequest;
            const {
              call: carrierSid,
              from = '',
              to = '',
              forwarded_by: forwardedFrom,
              agent_id: agentId,
            } = noticeOf(told.body);
            const errorMessages = {
              notOwnCall: 'The call is not yours.',
              belongsToAnotherCall: 'The call is another one.',
            };
            const { requestId } = ctx.state;
            const route = { forwarder, from, to, forwardedFrom, agentId };
            const call = { mode, carrier, carrierSid, requestId, errorMessages, ...route };
            return carrier.render(await instructions.receiveCall(call, deadline));
          };
          return sent(await gate.decideInboundCall(ctx, { identifySender, decide }));
        },
      },
    );
  },
};

const sent = ({ contentType, body }: Markup) => content(contentType, body);

function noticeOf(body: Buffer): Notice {
  try {
    return Notice.parse(JSON.parse(body.toString('utf8')));
  } catch {
    throw new ServiceError('MISSING_PARAMS', 'The body must be a notice of the test carrier.');
  }
}

function reportOf({
  call: carrierSid,
  state,
  outcome = 'completed',
  seconds,
  at = Date.now(),
  n,
}: Notice): StatusReport {
  const record = { status: state ?? 'unknown', at: new Date(at), ...(n === undefined ? {} : { sequence: n }) };
  if (state === 'talking') return { record, signal: { kind: 'answered', carrierSid, at } };
  if (state !== 'over') return { record };
  const durationSeconds = seconds === undefined ? {} : { durationSeconds: seconds };
  const signal = { kind: 'ended' as const, carrierSid, at, status: outcome, ...durationSeconds };
  return { record: { ...record, ...durationSeconds }, signal };
}
