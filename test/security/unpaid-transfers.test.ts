import { createAccounts } from '../../src/identity/accounts/accounts.js';
import type { Mode } from '../../src/kernel/ids.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { createCallRequests } from '../../src/calls/call-requests.js';
import { createCallResults } from '../../src/calls/wiring.js';
import { createCarrierBindings } from '../../src/telephony/carrier-bindings.js';
import { eventually, startService, type Service } from '../support/http/harness.js';
import { openMediaFixture, type MediaFixture } from '../integration/voice/support/media-fixture';
import { createScriptedEngine, type ScriptedCall } from '../integration/voice/support/scripted-engine';
import { newCallId } from '../support/store/test-database.js';
import { likeASecret, PRODUCTION } from '../support/production.js';
import { newSid, sidOf, SIMULATED } from '../support/sids.js';
import { REAL_CARRIER } from './support/real-carrier.js';
import { callRequest } from '../support/store/call-request.js';

const COLLEAGUE = '+12025550143';
const OFF = { ...REAL_CARRIER, LIVE_TRANSFERS: 'off' };

describe('transfers, whose second leg no account pays', () => {
  it('are off in production on a real carrier unless the operator turns them on', () => {
    const { ALLOW_INSECURE_DEVELOPMENT: _, CARRIER_BASE_URL: __, ...carrier } = REAL_CARRIER;
    const real = { ...PRODUCTION, ...carrier, TWILIO_AUTH_TOKEN: likeASecret('carrier').slice(0, 32) };
    expect(parseConfig(real).calls.liveTransfers).toBe(false);
    expect(parseConfig({ ...real, LIVE_TRANSFERS: 'on' }).calls.liveTransfers).toBe(true);
    expect(parseConfig(REAL_CARRIER).calls.liveTransfers).toBe(true);
    expect(parseConfig(OFF).calls.liveTransfers).toBe(false);
    expect(parseConfig({ ...PRODUCTION, LIVE_TRANSFERS: 'off' }).calls.liveTransfers).toBe(true);
    expect(() => parseConfig({ LIVE_TRANSFERS: 'yes' })).toThrow(/LIVE_TRANSFERS/);
  });
});

describe('an agent on a real carrier without LIVE_TRANSFERS', () => {
  const engine = createScriptedEngine();
  let media: MediaFixture;
  let accountId: string;
  beforeAll(async () => {
    media = await openMediaFixture({ engine: engine.factory, env: OFF });
    accountId = (await createAccounts(media.database).create({ name: 'Acme' }))._id;
  });
  afterAll(() => media.close());

  /**
   * Returns the tools that the call's engine was offered, and the result of a transfer that the engine requests anyway.
   */
  async function transfer() {
    const placed = await media.placeCall({ accountId, agent: { transferNumbers: [COLLEAGUE] } });
    const line = await media.openLine(placed);
    await eventually(async () => engine.calls.has(placed.callId));
    const { call, sink } = engine.calls.get(placed.callId) as ScriptedCall;
    const answer = await sink.runTool({ name: 'transfer_call', arguments: { number: COLLEAGUE } });
    line.hangUp();
    await line.closed;
    return { offered: call.tools.map(({ name }) => name), answer };
  }

  it('is not offered the tool in a live call, and cannot use it', async () => {
    const { offered, answer } = await transfer();
    expect(offered).toEqual(['end_call', 'send_dtmf']);
    expect(answer).toEqual({ ok: false, error: 'unknown tool transfer_call' });
  });
});

describe('a carrier that requests the next step of a live call without LIVE_TRANSFERS', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ worker: false, env: OFF });
  });
  afterAll(() => service.close());

  /**
   * Returns what the carrier gets after the stream of a call whose stored result says that its agent has transferred
   * it.
   */
  async function afterStream(mode: Mode, fields: Record<string, string> = {}): Promise<string> {
    const callId = newCallId();
    const sid = newSid('CA');
    await createCallRequests(service.database).insert(callRequest({ _id: callId, mode }));
    await createCarrierBindings(service.database).bind(callId, sid, { ...SIMULATED, kind: 'twilio' });
    await createCallResults(service.database).finish({
      callId,
      streamId: sidOf('MZ', 1),
      carrierSid: sid,
      engine: 'test',
      startedAt: new Date(),
      endedAt: new Date(),
      endReason: 'transferred',
      agentAudioPlayed: true,
      turns: [],
      summary: 'They spoke.',
      outputParameters: '{}',
      hasRecording: false,
      transferTo: COLLEAGUE,
    });
    const path = `/carrier/calls/${callId}/after-stream`;
    return (await service.carrierPost(path, { CallSid: sid, ...fields }, mode)).text;
  }

  it('gets the instruction to hang up, and not to dial', async () => {
    const twiml = await afterStream('live');
    expect(twiml).toMatch(/<Response><Hangup\/><\/Response>$/);
  });

  it('ends a transfer that began earlier as usual, and dials for test calls', async () => {
    expect(await afterStream('live', { DialCallStatus: 'busy' })).toMatch(/the other party did not answer/);
    expect(await afterStream('test')).toContain('<Dial');
  });
});
