import { createCarrierBindings } from '../../../src/telephony/carrier-bindings.js';
import type { AgentSnapshot } from '../../../src/agents/agent-snapshot.js';
import { startEvent } from './support/carrier-line';
import { eventually, openMediaFixture, type MediaFixture } from './support/media-fixture';
import { createScriptedEngine, type ScriptedCall } from './support/scripted-engine';
import { sidOf } from '../../support/sids.js';

const engine = createScriptedEngine();
let media: MediaFixture;
let bindings: ReturnType<typeof createCarrierBindings>;

beforeAll(async () => {
  media = await openMediaFixture({ engine: engine.factory });
  bindings = createCarrierBindings(media.database);
});
afterAll(() => media.close());

async function startCall(agent: Partial<AgentSnapshot> = {}) {
  const placed = await media.placeCall({ agent });
  const line = await media.openLine(placed);
  await eventually(() => engine.calls.has(placed.callId));
  return { ...placed, line, scripted: engine.calls.get(placed.callId) as ScriptedCall };
}

async function hangUp({ line }: Awaited<ReturnType<typeof startCall>>): Promise<void> {
  line.hangUp();
  await line.closed;
}

describe('the carrier’s answering machine detection', () => {
  it('reaches the engine of its call from any process, and is stored in the result', async () => {
    const [called, other] = [await startCall(), await startCall()];
    await bindings.recordAnsweredBy(called.callId, called.carrierSid, 'human');
    await eventually(() => called.scripted.answeredBy.length > 0);
    expect(called.scripted.answeredBy).toEqual(['human']);
    await hangUp(called);
    await hangUp(other);
    for (const { callId } of [called, other])
      await eventually(async () => (await media.results.find(callId))?.endedAt !== undefined);
    expect(await media.results.find(called.callId)).toMatchObject({ answeredBy: 'human', endReason: 'carrier_stop' });
    expect(other.scripted.answeredBy).toEqual([]);
    expect((await media.results.find(other.callId))?.answeredBy).toBeUndefined();
  });

  it('reaches the session even after a second socket of the call was rejected', async () => {
    const called = await startCall();
    const second = await media.dialIn(called);
    second.send(startEvent(called.carrierSid, sidOf('MZ', 2)));
    await new Promise((resolve) => second.once('close', resolve));
    await bindings.recordAnsweredBy(called.callId, called.carrierSid, 'human');
    await eventually(() => called.scripted.answeredBy.length > 0);
    expect(called.scripted.answeredBy).toEqual(['human']);
    await hangUp(called);
  });

  it('ends the call as voicemail if the agent hangs up on voicemail, even while the agent speaks', async () => {
    const { line, scripted, callId, carrierSid } = await startCall({ voicemailAction: 'hang_up' });
    scripted.sink.sendAudio('greeting', new Uint8Array(80_000).fill(0x20));
    await bindings.recordAnsweredBy(callId, carrierSid, 'voicemail');
    expect(await line.closed).toBe(1000);
    expect(line.events).toContain('clear');
    expect(scripted.stopped).toBe('voicemail');
    expect(await media.results.find(callId)).toMatchObject({ answeredBy: 'voicemail', endReason: 'voicemail' });
    expect((await media.signals(callId)).at(-1)).toMatchObject({ kind: 'ended', reason: 'voicemail' });
  });

  it('is ignored if the engine knows that a person has talked with the agent', async () => {
    const call = await startCall({ voicemailAction: 'hang_up' });
    call.scripted.acceptsDetection = false;
    call.scripted.sink.storeAnsweredBy('human');
    await bindings.recordAnsweredBy(call.callId, call.carrierSid, 'voicemail');
    await eventually(() => call.scripted.answeredBy.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(call.line.socket.readyState).toBe(call.line.socket.OPEN);
    await hangUp(call);
    await eventually(async () => (await media.results.find(call.callId))?.endedAt !== undefined);
    expect(await media.results.find(call.callId)).toMatchObject({ answeredBy: 'human', endReason: 'carrier_stop' });
  });

  it.each(['by the carrier', 'by the engine'])(
    'is passed to the engine of the resumed session when it was found %s',
    async (foundBy) => {
      const call = await startCall({ voicemailAction: 'leave_message' });
      if (foundBy === 'by the carrier') await bindings.recordAnsweredBy(call.callId, call.carrierSid, 'voicemail');
      else call.scripted.result = { answeredBy: 'voicemail' };
      await eventually(() => foundBy === 'by the engine' || call.scripted.answeredBy.length > 0);
      call.line.break();
      await eventually(async () => (await media.results.find(call.callId))?.answeredBy !== undefined);
      const line = await media.resumeLine(call, 1);
      await eventually(() => engine.calls.get(call.callId) !== call.scripted);
      const resumed = engine.calls.get(call.callId) as ScriptedCall;
      await eventually(() => resumed.answeredBy.length > 0, 5_000);
      expect(resumed.answeredBy).toEqual(['voicemail']);
      line.hangUp();
      await line.closed;
      expect(await media.results.find(call.callId)).toMatchObject({ answeredBy: 'voicemail' });
    },
  );

  it('is stored as soon as the engine detects it, and reaches the process that resumes after a killed one', async () => {
    const another = await media.startAnother();
    const call = await startCall({ voicemailAction: 'leave_message' });
    call.scripted.sink.storeAnsweredBy('voicemail');
    await eventually(async () => (await media.results.find(call.callId))?.answeredBy === 'voicemail', 5_000);
    const line = await media.resumeLine(call, 1, { port: another.port });
    await eventually(() => engine.calls.get(call.callId) !== call.scripted);
    const resumed = engine.calls.get(call.callId) as ScriptedCall;
    await eventually(() => resumed.answeredBy.length > 0, 5_000);
    expect(resumed.answeredBy).toEqual(['voicemail']);
    line.hangUp();
    await line.closed;
    call.line.break();
  });

  it('can change to voicemail in a resumed session, even if a person was detected before', async () => {
    const call = await startCall({ voicemailAction: 'leave_message' });
    call.scripted.sink.storeAnsweredBy('human');
    await eventually(async () => (await media.results.find(call.callId))?.answeredBy === 'human', 5_000);
    call.line.break();
    const line = await media.resumeLine(call, 1);
    await eventually(() => engine.calls.get(call.callId) !== call.scripted);
    const resumed = engine.calls.get(call.callId) as ScriptedCall;
    await bindings.recordAnsweredBy(call.callId, call.carrierSid, 'voicemail');
    await eventually(() => resumed.answeredBy.length > 0, 5_000);
    expect(resumed.answeredBy).toEqual(['voicemail']);
    line.hangUp();
    await line.closed;
  });

  it('is left to the engine if the agent leaves a message', async () => {
    const call = await startCall({ voicemailAction: 'leave_message', voicemailMessage: 'Please call us back.' });
    expect(call.scripted.call.voicemail).toEqual({ action: 'leave_message', message: 'Please call us back.' });
    await bindings.recordAnsweredBy(call.callId, call.carrierSid, 'voicemail');
    await eventually(() => call.scripted.answeredBy.length > 0);
    expect(call.line.socket.readyState).toBe(call.line.socket.OPEN);
    await hangUp(call);
  });

  it('is not awaited if the agent continues on voicemail', async () => {
    const continuing = await startCall({ voicemailAction: 'continue' });
    const waiting = await startCall();
    await bindings.recordAnsweredBy(continuing.callId, continuing.carrierSid, 'voicemail');
    await bindings.recordAnsweredBy(waiting.callId, waiting.carrierSid, 'unknown');
    await eventually(() => waiting.scripted.answeredBy.length > 0);
    expect(continuing.scripted.answeredBy).toEqual([]);
    await hangUp(continuing);
    await hangUp(waiting);
  });

  it('is reported once: the first result counts, and that of another carrier call is ignored', async () => {
    const call = await startCall();
    await bindings.recordAnsweredBy(call.callId, `CA${'0'.repeat(32)}`, 'voicemail');
    await bindings.recordAnsweredBy(call.callId, call.carrierSid, 'human');
    await bindings.recordAnsweredBy(call.callId, call.carrierSid, 'voicemail');
    expect(await bindings.answeredBy([call.callId, 'call_none'])).toEqual(new Map([[call.callId, 'human']]));
    await eventually(() => call.scripted.answeredBy.length > 0);
    await hangUp(call);
    expect(call.scripted.answeredBy).toEqual(['human']);
  });
});
