import { SKIPPED_FOR_MS } from '../../src/voice/engines/chain/circuit-breaker.js';
import { createProviderHealth } from '../../src/voice/engines/chain/provider-health.js';
import { createEngineWithSuccessor } from '../../src/voice/engines/chain/successor-engine.js';
import type {
  EngineCall,
  EngineResult,
  EngineSink,
  FailureCause,
  TranscriptTurn,
} from '../../src/voice/engines/port.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { CALL } from '../support/engine-line';
import { createScriptedEngine, type ScriptedCall } from '../integration/voice/support/scripted-engine';

const RESULT: EngineResult = { summary: '', outputParameters: {} };
const SAID = {
  greeting: { speaker: 'agent', text: 'Hello, this is the clinic.', startMs: 0, endMs: 1_500 },
  answer: { speaker: 'caller', text: 'Good morning.', startMs: 2_000, endMs: 3_000 },
} satisfies Record<string, TranscriptTurn>;

/** Starts a call with two scripted engines. The second continues the calls of the first. */
async function startCall(changes: Partial<EngineCall> = {}, health = createProviderHealth()) {
  const first = createScriptedEngine();
  const second = createScriptedEngine();
  const engine = createEngineWithSuccessor({
    first: first.factory,
    second: second.factory,
    fits: () => true,
    health,
    logger: createLogger({ role: 'media', level: 'silent' }),
  }).create();
  const failures: Error[] = [];
  const nothing = () => undefined;
  const sink: EngineSink = {
    sendAudio: nothing,
    endItem: nothing,
    clear: nothing,
    showInterim: nothing,
    storeTurn: nothing,
    storeValues: nothing,
    storeLatency: nothing,
    storeAnsweredBy: nothing,
    storeFailure: nothing,
    runTool: () => Promise.resolve({ ok: true, result: 'done' }),
    end: nothing,
    fail: (error) => void failures.push(error),
  };
  const call = { ...CALL, ...changes };
  await engine.start(call, sink);
  const of = ({ calls }: typeof first) => calls.get(call.callId) as ScriptedCall;
  return {
    engine,
    /** Whether the second engine conducts the call. */
    isWithSecond: () => second.calls.has(call.callId),
    failures,
    first: of(first),
    /** Lets the first engine fail. @returns the call as the second one got it */
    fail: async (): Promise<ScriptedCall> => {
      of(first).sink.fail(new Error('the provider closed the connection'));
      await new Promise((resolve) => setImmediate(resolve));
      return of(second);
    },
  };
}

describe('the engine that takes over', () => {
  it('knows that a person has answered, by the first engine’s words', async () => {
    const { first, fail } = await startCall();
    for (const turn of Object.values(SAID)) first.sink.storeTurn(turn);
    first.sink.storeAnsweredBy('human');
    expect((await fail()).call.takesOver?.answeredBy).toBe('human');
  });

  it('learns of a machine that the first engine detected or accepted', async () => {
    const detected = await startCall();
    detected.first.sink.storeAnsweredBy('voicemail');
    const own = await detected.fail();
    expect([own.call.takesOver?.answeredBy, own.answeredBy]).toEqual(['voicemail', ['voicemail']]);
    const reported = await startCall();
    reported.engine.onAnsweredBy?.('voicemail');
    expect((await reported.fail()).answeredBy).toEqual(['voicemail']);
  });

  it('has nothing to continue if nothing was said', async () => {
    expect((await (await startCall()).fail()).call).not.toHaveProperty('resume');
  });

  it('knows that the caller noticed no interruption', async () => {
    const { first, fail } = await startCall();
    first.sink.storeTurn(SAID.greeting);
    expect((await fail()).call.resume).toEqual({ turns: [SAID.greeting], values: {}, unnoticed: true });
  });

  it('must still say that the line broke, if the first engine has not', async () => {
    const broken = { resume: { turns: [SAID.greeting], values: {} } };
    const silent = await startCall(broken);
    expect((await silent.fail()).call.resume).not.toHaveProperty('unnoticed');
    const bridged = await startCall(broken);
    bridged.first.sink.storeTurn({ speaker: 'agent', text: 'The line broke for a moment.', startMs: 2, endMs: 900 });
    expect((await bridged.fail()).call.resume?.unnoticed).toBe(true);
  });

  it('adds its session log to that of the first engine', async () => {
    const { engine, first, fail } = await startCall();
    first.result = { ...RESULT, sessionLogs: ['one'] };
    (await fail()).result = { ...RESULT, sessionLogs: ['two'] };
    expect(first.stopped).toBe('replaced');
    expect((await engine.stop('carrier_stop')).sessionLogs).toEqual(['one', 'two']);
  });

  it.each([
    ['unclear', false],
    ['request', false],
    ['provider', true],
  ] as const)('takes over after a failure whose blame is: %s', async (blame, isSkipped) => {
    const health = createProviderHealth();
    for (let count = 0; count < 2; count += 1) {
      const { first, fail } = await startCall({}, health);
      first.sink.storeFailure({ part: 'realtime', what: 'the provider rejected the session settings' }, { blame });
      await fail();
    }
    expect(health.isOpen({ stage: 'realtime', number: 1 })).toBe(isSkipped);
  });

  it('leaves the summary to the first engine if the call ends at the same time', async () => {
    const { engine, first } = await startCall();
    first.sink.fail(new Error('the provider closed the connection'));
    await engine.stop('carrier_stop');
    expect(first.stopped).toBe('carrier_stop');
  });
});

describe('the calls in which the first engine fails', () => {
  const FAILURE: FailureCause = { blame: 'provider' };
  let atMs = 0;
  let health = createProviderHealth(() => atMs);
  beforeEach(() => {
    atMs = 0;
    health = createProviderHealth(() => atMs);
  });

  /** Begins a call, written as account and number. */
  const begin = (call: string, changes: Partial<EngineCall> = {}) => {
    const requestOwner = { accountId: call.charAt(0), callId: call, mode: 'live' } as const;
    return startCall({ callId: call, requestOwner, ...changes }, health);
  };
  /** Lets the first engine fail in calls, one after the other. */
  async function lose(calls: string, cause = FAILURE, changes: Partial<EngineCall> = {}): Promise<void> {
    for (const name of calls.split(' ')) {
      const call = await begin(name, changes);
      if (call.isWithSecond()) throw new Error(`${name} skips the first engine`);
      call.first.sink.storeFailure({ part: 'realtime', what: 'the provider timed out' }, cause);
      await call.fail();
      expect(call.isWithSecond()).toBe(true);
    }
  }
  /** For each account, whether its next call begins with the second engine. */
  async function skips(accounts: string): Promise<Record<string, boolean>> {
    const isSkipped: Record<string, boolean> = {};
    for (const account of accounts) isSkipped[account] = (await begin(`${account}?`)).isWithSecond();
    return isSkipped;
  }

  it('never move the calls of other accounts, however many there are of one account', async () => {
    await lose('a0 a1');
    for (let trial = 2; trial < 6; trial += 1) {
      expect(await skips('ab')).toEqual({ a: true, b: false });
      atMs += SKIPPED_FOR_MS;
      await lose(`a${trial}`);
    }
    expect(await skips('ab')).toEqual({ a: true, b: false });
  });

  it('open the circuit for all calls if they are three in a row of more than one account', async () => {
    await lose('a1 b1');
    expect(await skips('c')).toEqual({ c: false });
    await lose('c1');
    expect(await skips('abcd')).toEqual({ a: true, b: true, c: true, d: true });
  });

  it('keep the circuit open by a trial in the same case only', async () => {
    await lose('a1 b1 c1');
    atMs += SKIPPED_FOR_MS;
    await lose('d1');
    expect(await skips('abcde')).toEqual({ a: true, b: true, c: true, d: true, e: true });
    for (const call of ['d2', 'd3']) {
      atMs += SKIPPED_FOR_MS;
      await lose(call);
    }
    expect(await skips('dbe')).toEqual({ d: true, b: false, e: true });
  });

  it('are forgotten after an answer to a call of the same account', async () => {
    await lose('a1 a2');
    atMs += SKIPPED_FOR_MS;
    const trial = await begin('a3');
    expect(await skips('a')).toEqual({ a: true });
    trial.first.sink.sendAudio('reply-1', new Uint8Array(160));
    expect(await skips('a')).toEqual({ a: false });
  });

  it('do not count if the agent chose the model', async () => {
    await lose('a1 a2 b1 c1 d1', FAILURE, { settings: { model: 'slow' } });
    expect(await skips('ab')).toEqual({ a: false, b: false });
  });

  it('do not count if the provider says that their content is the cause', async () => {
    await lose('a1 b1 c1 d1', { blame: 'request' });
    expect(await skips('ae')).toEqual({ a: false, e: false });
  });
});
