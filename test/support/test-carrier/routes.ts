import { z } from 'zod';
import { ServiceError } from '../../../src/kernel/errors.js';
import type { Route } from '../../../src/platform/http/contract/route.js';
import { createCallbackGate } from '../../../src/telephony/callback-gate.js';
import type { CarrierCallRef, StatusReport } from '../../../src/telephony/callbacks.js';
import type { CarrierContract, CarrierRoute } from '../../../src/telephony/port.js';
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
  to: z.string().optional(),
  agent_id: z.string().optional(),
});
export type Notice = z.infer<typeof Notice>;

function routeOf(path: string): Route {
  return {
    method: 'post',
    path: `/carriers/test${path}`,
    tag: 'Carrier callbacks',
    summary: 'A request of the test carrier',
    auth: 'carrier',
    changes: 'mode',
    body: { contentType: 'application/json', schema: Notice, examples: {} },
    success: { description: 'Done.', contentType: 'application/json', schema: z.unknown(), examples: {} },
    errors: [],
  };
}

/** Requests in JSON, on paths of their own. */
export const TEST_CONTRACT: CarrierContract = {
  createRoutes(deps) {
    const { events, instructions } = deps;
    const gate = createCallbackGate(deps);

    function route(
      path: string,
      handle: (
        p: Parameters<CarrierRoute['handle']>[0],
        callId: string,
        notice: Notice,
        told: Awaited<ReturnType<typeof gate.admit>> & { ref: CarrierCallRef },
      ) => Promise<void>,
    ): CarrierRoute {
      return {
        route: routeOf(path),
        async handle(ctx, params) {
          const verified = await gate.admit(ctx);
          const notice = noticeOf(verified.request.body);
          const { mode, carrier } = verified;
          const ref = { mode, carrier, carrierSid: notice.call };
          await handle(ctx, params['call_id'] ?? '', notice, { ...verified, ref });
        },
      };
    }

    return [
      route('/calls/{call_id}/answer', async (ctx, callId, _notice, { ref, carrier }) =>
        gate.send(ctx, carrier.render(await instructions.answered(callId, ref, gate.terms(ctx)))),
      ),
      route('/calls/{call_id}/next', async (ctx, callId, notice, { ref, carrier }) => {
        const { other_side: otherSide } = notice;
        const ended = {
          after: Number(ctx.query['stream'] ?? 0),
          ...(otherSide === undefined ? {} : { transferConnected: otherSide === 'answered' }),
        };
        gate.send(ctx, carrier.render(await instructions.streamEnded(callId, ref, ended, gate.terms(ctx))));
      }),
      route('/calls/{call_id}/events', async (ctx, callId, notice, { ref }) => {
        if (notice.listener !== undefined) {
          const who = notice.listener === 'person' ? ('human' as const) : ('voicemail' as const);
          return gate.acknowledge(ctx, events.answeredBy(callId, ref, who));
        }
        if (notice.other_side === 'answered') return gate.acknowledge(ctx, events.transferAnswered(callId, ref));
        return gate.acknowledge(ctx, events.statusOf(callId, ref, reportOf(notice)));
      }),
      route('/calls', async (ctx, _callId, notice, { ref, mode, carrier }) => {
        const instruction = await instructions.arrived(
          {
            ...ref,
            forwarder: { mode },
            from: notice.from ?? '',
            to: notice.to ?? '',
            agentId: notice.agent_id,
            wording: { notOwn: 'The call is not yours.', ofAnotherCall: 'The call is another one.' },
          },
          gate.terms(ctx).deadline,
        );
        gate.send(ctx, carrier.render(instruction));
      }),
    ];
  },
};

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
  const sequence = n === undefined ? {} : { sequence: String(n) };
  if (state === 'talking') return { ...sequence, record, signal: { kind: 'answered', carrierSid, at } };
  if (state !== 'over') return { ...sequence, record };
  const durationSeconds = seconds === undefined ? {} : { durationSeconds: seconds };
  const signal = { kind: 'ended' as const, carrierSid, at, status: outcome, ...durationSeconds };
  return { ...sequence, record: { ...record, ...durationSeconds }, signal };
}
