import type { CustomerAnswer } from './customer.js';
import { openAgent, type Agent } from './agent.js';
import { until, type Bench } from './simulator.js';

/** A call to a scripted callee, streamed to agents of the test. */
export interface StreamedCall {
  sid: string;
  callId: string;
  /** The agents of the call's streams, one for each stream, in order. */
  agents: Agent[];
}

let dialed = 0;

/**
 * Dials a number whose TwiML streams the call, and waits for the first stream.
 * @param then what follows `</Connect>`
 */
export async function streamCall(bench: Bench, to: string, then = ''): Promise<StreamedCall> {
  const agents: Agent[] = [];
  bench.customer.onStream = (socket) => agents.push(openAgent(socket));
  const connect = `<Connect><Stream url="${bench.customer.streamUrl}/stream/x"/></Connect>`;
  answerTwiml(bench, `${connect}${then}`);
  const call = await dial(bench, to);
  await until(() => agents[0]?.messages.some(({ event }) => event === 'media') ?? false);
  return { ...call, agents };
}

/** Sets the TwiML that answered calls receive. */
export function answerTwiml(bench: Bench, verbs: string): void {
  bench.customer.answer = ({ path }) => (path.endsWith('/twiml') ? twiml(verbs) : undefined);
}

export function twiml(verbs: string): CustomerAnswer {
  return { contentType: 'text/xml', body: `<Response>${verbs}</Response>` };
}

export async function dial(bench: Bench, to: string): Promise<{ sid: string; callId: string }> {
  const callId = `call_line_${++dialed}`;
  const outcome = await bench.carrier.dial({
    callId,
    to,
    from: '+15005550006',
    ringTimeoutSeconds: 30,
    timeLimitSeconds: 120,
  });
  if (outcome.outcome !== 'accepted') throw new Error(outcome.outcome);
  return { sid: outcome.carrierSid, callId };
}
