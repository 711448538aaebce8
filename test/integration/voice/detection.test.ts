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

async function talk(agent: Partial<AgentSnapshot> = {}) {
  const placed = await media.placeCall({ agent });
  const line = await media.openLine(placed);
  await eventually(() => engine.calls.has(placed.callId));
  return { ...placed, line, scripted: engine.calls.get(placed.callId) as ScriptedCall };
}

async function hangUp({ line }: Awaited<ReturnType<typeof talk>>): Promise<void> {
  line.hangUp();
  await line.closed;
}

describe('the carrier’s word on who answered', () => {
  it('reaches the engine of the call it is about, whichever process took it, and stands in the result', async () => {
    const [called, other] = [await talk(), await talk()];
    await bindings.noteAnsweredBy(called.callId, called.carrierSid, 'human');
    await eventually(() => called.scripted.answeredBy.length > 0);
    expect(called.scripted.answeredBy).toEqual(['human']);
    await hangUp(called);
    await hangUp(other);
    await eventually(async () => (await media.results.find(other.callId))?.endedAt !== undefined);
    expect(await media.results.find(called.callId)).toMatchObject({ answeredBy: 'human', endReason: 'carrier_stop' });
    expect(other.scripted.answeredBy).toEqual([]);
    expect((await media.results.find(other.callId))?.answeredBy).toBeUndefined();
  });

  it('reaches the talk also when a second socket of the call came and was refused', async () => {
    const called = await talk();
    const second = await media.dialIn(called);
    second.send(startEvent(called.carrierSid, sidOf('MZ', 2)));
    await new Promise((resolve) => second.once('close', resolve));
    await bindings.noteAnsweredBy(called.callId, called.carrierSid, 'human');
    await eventually(() => called.scripted.answeredBy.length > 0);
    expect(called.scripted.answeredBy).toEqual(['human']);
    await hangUp(called);
  });

  it('ends the call as voicemail where the agent hangs up on mailboxes, in the middle of a word', async () => {
    const { line, scripted, callId, carrierSid } = await talk({ voicemailAction: 'hang_up' });
    scripted.sink.audio('greeting', new Uint8Array(80_000).fill(0x20));
    await bindings.noteAnsweredBy(callId, carrierSid, 'voicemail');
    expect(await line.closed).toBe(1000);
    expect(line.events).toContain('clear');
    expect(scripted.stopped).toBe('voicemail');
    expect(await media.results.find(callId)).toMatchObject({ answeredBy: 'voicemail', endReason: 'voicemail' });
    expect((await media.signals(callId)).at(-1)).toMatchObject({ kind: 'ended', reason: 'voicemail' });
  });

  it.each(['by the carrier', 'by ear'])(
    'is told again to the engine that goes on, when it was found %s',
    async (how) => {
      const call = await talk({ voicemailAction: 'leave_message' });
      if (how === 'by the carrier') await bindings.noteAnsweredBy(call.callId, call.carrierSid, 'voicemail');
      else call.scripted.result = { answeredBy: 'voicemail' };
      await eventually(() => how === 'by ear' || call.scripted.answeredBy.length > 0);
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

  it('is kept as soon as the engine hears it, and told to the process that goes on after a killed one', async () => {
    const another = await media.startAnother();
    const call = await talk({ voicemailAction: 'leave_message' });
    call.scripted.sink.answeredBy('voicemail');
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

  it('may still be that a machine has, when a person was heard before the line broke', async () => {
    const call = await talk({ voicemailAction: 'leave_message' });
    call.scripted.sink.answeredBy('human');
    await eventually(async () => (await media.results.find(call.callId))?.answeredBy === 'human', 5_000);
    call.line.break();
    const line = await media.resumeLine(call, 1);
    await eventually(() => engine.calls.get(call.callId) !== call.scripted);
    const resumed = engine.calls.get(call.callId) as ScriptedCall;
    await bindings.noteAnsweredBy(call.callId, call.carrierSid, 'voicemail');
    await eventually(() => resumed.answeredBy.length > 0, 5_000);
    expect(resumed.answeredBy).toEqual(['voicemail']);
    line.hangUp();
    await line.closed;
  });

  it('leaves it to the engine where the agent leaves a message', async () => {
    const call = await talk({ voicemailAction: 'leave_message', voicemailMessage: 'Please call us back.' });
    expect(call.scripted.call.voicemail).toEqual({ action: 'leave_message', message: 'Please call us back.' });
    await bindings.noteAnsweredBy(call.callId, call.carrierSid, 'voicemail');
    await eventually(() => call.scripted.answeredBy.length > 0);
    expect(call.line.socket.readyState).toBe(call.line.socket.OPEN);
    await hangUp(call);
  });

  it('is not waited for where the agent goes on in any case', async () => {
    const going = await talk({ voicemailAction: 'continue' });
    const asking = await talk();
    await bindings.noteAnsweredBy(going.callId, going.carrierSid, 'voicemail');
    await bindings.noteAnsweredBy(asking.callId, asking.carrierSid, 'unknown');
    await eventually(() => asking.scripted.answeredBy.length > 0);
    expect(going.scripted.answeredBy).toEqual([]);
    await hangUp(going);
    await hangUp(asking);
  });

  it('is told once: the first stands, and another carrier call has no say', async () => {
    const call = await talk();
    await bindings.noteAnsweredBy(call.callId, `CA${'0'.repeat(32)}`, 'voicemail');
    await bindings.noteAnsweredBy(call.callId, call.carrierSid, 'human');
    await bindings.noteAnsweredBy(call.callId, call.carrierSid, 'voicemail');
    expect(await bindings.answeredBy([call.callId, 'call_none'])).toEqual(new Map([[call.callId, 'human']]));
    await eventually(() => call.scripted.answeredBy.length > 0);
    await hangUp(call);
    expect(call.scripted.answeredBy).toEqual(['human']);
  });
});
