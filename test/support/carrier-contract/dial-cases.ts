import type { DialRequest } from '../../../src/telephony/port.js';
import { eventually } from '../http/harness';
import type { DialFault } from './double';
import { callsOf, newCallId } from './calls';
import { testsOfPart, type Given, type Tests } from './given';

/** Only the operator can remove the cause of such a rejection. */
const OPERATOR_FAULT = { code: expect.stringMatching(/./), reason: expect.any(String), remedy: expect.any(String) };
const CALLER_FAULT = { code: expect.stringMatching(/./), reason: expect.any(String) };

const OUTCOMES: Readonly<Record<Exclude<DialFault, 'no response'>, object>> = {
  'wrong credentials': { outcome: 'refused', endReason: 'internal_error', rejection: OPERATOR_FAULT },
  'a caller or callee that the account may not use': {
    outcome: 'refused',
    endReason: 'internal_error',
    rejection: OPERATOR_FAULT,
  },
  'a number that does not exist': { outcome: 'refused', endReason: 'invalid_number', rejection: CALLER_FAULT },
  'too many requests': { outcome: 'throttled' },
  'too many calls': { outcome: 'throttled', afterMs: expect.any(Number), rejection: OPERATOR_FAULT },
  'a server error': { outcome: 'ambiguous' },
  'a lost response': { outcome: 'ambiguous' },
};

/** A request of this time limit is given up while the test waits. Others never wait that long. */
const SHORT_TIMEOUT_MS = 300;

/** Tests the REST API of a carrier that places calls. */
export function describeDials(of: Given): void {
  // The service itself calls from other numbers.
  const dialOf = (to: string): DialRequest => ({
    callId: newCallId(),
    to,
    from: '+12025550198',
    ringTimeoutSeconds: 30,
    timeLimitSeconds: 90,
  });

  it('places a call, finds it by its id and by its numbers, and ends it once', async () => {
    const { carrier, double } = of.given();
    const since = Date.now() - 1_000;
    const dialed = await carrier.dial(dialOf(double.numbers.person));
    expect(dialed).toEqual({ outcome: 'accepted', carrierSid: expect.any(String) });
    const { carrierSid } = dialed as { carrierSid: string };
    expect(carrier.isCallId(carrierSid)).toBe(true);
    await eventually(async () => {
      const found = await carrier.findPlaced({ ...dialOf(double.numbers.person), since });
      return found.some((call) => call.carrierSid === carrierSid);
    });
    await carrier.hangUp(carrierSid);
    await carrier.hangUp(carrierSid);
    await eventually(
      async () => !['queued', 'ringing', 'in-progress'].includes((await carrier.fetch(carrierSid))!.status),
    );
  });

  describe('reports a dial that fails', () => {
    it.each(Object.entries(OUTCOMES) as [DialFault, object][])('because of %s', async (fault, outcome) => {
      const { carrier, double } = of.given();
      const to = double.dialFaults[fault];
      const dialed = await carrier.dial(dialOf(to));
      expect(dialed).toEqual(outcome);
      expect(JSON.stringify(dialed)).not.toContain(to.slice(1));
    });

    it('because the carrier does not respond within the time limit', async () => {
      const { stack, double } = of.given();
      const impatient = stack.carrierWith(of.entry.mode, { timeoutMs: SHORT_TIMEOUT_MS });
      const startedAt = Date.now();
      const dialed = await impatient.dial(dialOf(double.dialFaults['no response']));
      expect(dialed).toEqual({ outcome: 'ambiguous' });
      expect(Date.now() - startedAt).toBeLessThan(4_000);
    });

    it('because the carrier cannot be reached, so that no call exists', async () => {
      const closed = of.given().stack.carrierWith(of.entry.mode, { isClosed: true });
      expect(await closed.dial(dialOf('+12025550100'))).toEqual({ outcome: 'unreachable' });
      await expect(closed.fetch(of.given().double.newCallId())).rejects.toThrow();
    });
  });
}

/** Tests of how calls end, or begin after all, when the first request to dial them fails or the callee does not answer. */
export function failingCallTests(of: Given): Tests {
  const calls = callsOf(of);

  const endsUnanswered = (name: 'busy' | 'unanswered', endReason: string) => async () => {
    const { stack, carrier, double } = of.given();
    const callId = await calls.place(double.numbers[name], { ringTimeoutSeconds: 1 });
    expect(await stack.ended(callId)).toMatchObject({ status: 'FAILED', endReason });
    const { carrierSid } = (await stack.bindingOf(callId))!;
    const record = (await carrier.fetch(carrierSid))!;
    expect(record).toMatchObject({ carrierSid, direction: 'outbound' });
    expect(record.durationSeconds ?? 0).toBe(0);
    expect(record.status).toBe(name === 'busy' ? 'busy' : 'no-answer');
  };

  const conductsOnce = (fault: DialFault) => async () => {
    const { stack, carrier, double } = of.given();
    const to = double.dialFaults[fault];
    const since = Date.now() - 1_000;
    const { callId, sink, binding } = await calls.placeToAgent(to);
    const { fromPhoneNumber: from } = (await stack.requestOf(callId))!;
    sink.end('agent_hangup');
    expect(await stack.ended(callId)).toMatchObject({ status: 'COMPLETED', endReason: 'agent_hangup' });
    const found = await carrier.findPlaced({ to, from, since });
    expect(found.map(({ carrierSid }) => carrierSid)).toEqual([binding.carrierSid]);
  };

  /** Returns the timeline of a call whose dial the carrier rejects. */
  async function timelineOfRejected() {
    const { stack, double } = of.given();
    const callId = await calls.place(double.dialFaults['wrong credentials']);
    expect(await stack.ended(callId)).toMatchObject({ status: 'FAILED', endReason: 'internal_error' });
    return stack.timeline(callId);
  }

  return {
    'ends a call to a number that is busy': endsUnanswered('busy', 'busy'),
    'ends a call that is not answered in time': endsUnanswered('unanswered', 'no_answer'),
    'conducts a call once, although its first dials were throttled': conductsOnce('too many requests'),
    'conducts a call once, although the response to its dial was lost': conductsOnce('a lost response'),
    async 'ends a call that the carrier rejects, and says why in its timeline'() {
      const entry = { status: 'rejected', errorCode: expect.any(String), reason: expect.any(String) };
      expect(await timelineOfRejected()).toEqual([expect.objectContaining(entry)]);
    },
    ...testsOfPart(of, 'faults of the operator', {
      async 'marks a rejection whose cause only the operator can remove'() {
        expect(await timelineOfRejected()).toEqual([expect.objectContaining({ isOperatorFault: true })]);
      },
    }),
  };
}
