import { createContinueAfterStream, type AfterStreamDeps } from '../../src/calls/callbacks/after-stream.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { observe } from '../../src/platform/telemetry/measurements.js';
import { legIdOf } from '../../src/telephony/web/leg.js';

const CALL_ID = 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';

/** Lets a call lose its first stream. @returns what is reported */
async function loseStream(carrierSid: string, plannedStream?: number): Promise<object[]> {
  const reported: object[] = [];
  const forget = observe('nextStream', (loss) => void reported.push(loss));
  const deps = {
    logger: createLogger({ role: 'test', level: 'silent' }),
    requests: { find: () => Promise.resolve({ _id: CALL_ID, mode: 'live' }) },
    bindings: {
      find: () => Promise.resolve({ carrierSid, ...(plannedStream === undefined ? {} : { plannedStream }) }),
      grantStream: () => Promise.resolve(),
    },
    results: { findHead: () => Promise.resolve({ startedAt: new Date(), agentAudioPlayed: true }) },
    gateway: { reconnect: () => Promise.resolve({ decision: 'stream', resumption: 1 }) },
  } as unknown as AfterStreamDeps;
  const carrierCall = { mode: 'live' as const, carrier: { kind: 'any', isCallId: () => true }, carrierSid };
  const context = { deadline: Date.now() + 10_000, requestId: 'req_1' };
  const next = await createContinueAfterStream(deps)(CALL_ID, carrierCall, { streamNumber: 0 }, context);
  forget();
  expect(next).toEqual({ kind: 'stream', callId: CALL_ID, streamNumber: 1 });
  return reported;
}

it('a lost stream is reported with the kind of its call’s line, and whether it is moved', async () => {
  const of = { mode: 'live', decision: 'stream' };
  expect(await loseStream('CA1')).toEqual([{ ...of, line: 'phone', cause: 'failure' }]);
  expect(await loseStream('CA1', 0)).toEqual([{ ...of, line: 'phone', cause: 'planned' }]);
  expect(await loseStream(legIdOf(CALL_ID))).toEqual([{ ...of, line: 'browser', cause: 'failure' }]);
});
