import { CallServiceUnavailable, type CallGateway } from '../../src/calls/gateway.js';
import { createApiServer } from '../../src/api/server.js';
import { openDatabase } from '../../src/database.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { sign } from '../../src/telephony/twilio/signature.js';
import { startGate } from '../integration/voice/support/gate.js';
import { eventually, startService, type Service } from '../support/http/harness.js';
import { newSid } from '../support/sids.js';
import { REAL_CARRIER } from './support/real-carrier.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ env: REAL_CARRIER });
}, 120_000);
afterAll(() => service.close(), 60_000);

/** Starts a second API process. It loses the response of each call that it starts, and its connection to MongoDB. */
async function startLosingResponses() {
  const uri = new URL(service.config.mongodbUri);
  const gate = await startGate(uri.host);
  uri.host = gate.address;
  const config = { ...service.config, mongodbUri: uri.href };
  uri.searchParams.set('monitorCommands', 'true');
  const database = await openDatabase(uri.href);
  const signals: string[] = [];
  const answers: string[] = [];
  /** To give a call up, a process inserts its tombstone into `calls`. */
  database.connection.getClient().on('commandSucceeded', ({ commandName, reply }) => {
    if (commandName === 'insert' && JSON.stringify(reply).includes('E11000')) answers.push(commandName);
  });
  const gateway: CallGateway = {
    ...service.gateway,
    async start(input, deadline) {
      await service.gateway.start(input, deadline);
      gate.shut();
      throw new CallServiceUnavailable();
    },
    hangUp(callId, signal) {
      signals.push(signal.cause);
      return service.gateway.hangUp(callId, signal);
    },
  };
  const logger = createLogger({ role: 'test', level: 'silent' });
  const server = createApiServer({ config, database, gateway, logger, minDeadlineMs: 3_000 });
  const { port } = await server.listen();
  return {
    gate,
    signals,
    answers,
    baseUrl: `http://127.0.0.1:${port}`,
    async close() {
      await server.close();
      await database.close();
      await gate.close();
    },
  };
}

describe('an inbound call whose webhook got a 503 after the call had begun', () => {
  it('goes ahead if the carrier delivered the webhook again and got its stream', async () => {
    const { agent } = await service.customer();
    const { carrierAccountId, authToken } = service.config.carriers.live;
    const params = { AccountSid: carrierAccountId, CallSid: newSid('CA'), From: '+12025550143', To: '+12025550199' };
    const path = `/inbound_call?agent_id=${agent._id}`;
    const signature = sign({ authToken, url: `${service.config.publicBaseUrl}${path}`, params });
    const deliverTo = async (baseUrl: string) => {
      const init = { method: 'POST', headers: { 'X-Twilio-Signature': signature }, body: new URLSearchParams(params) };
      return (await fetch(`${baseUrl}${path}`, { ...init, signal: AbortSignal.timeout(20_000) })).text();
    };
    const losing = await startLosingResponses();
    expect(await deliverTo(losing.baseUrl)).not.toContain('<Stream');
    const again = await eventually(async () => {
      const text = await deliverTo(service.baseUrl);
      return text.includes('<Stream') && text;
    });
    const [callId = ''] = /call_[0-9A-Z]{26}/.exec(again) ?? [];
    losing.gate.open();
    // The first process asks the database again after at most 10 s, and then knows that the call has begun.
    await eventually(async () => losing.answers.length > 0, 20_000);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(losing.signals).toEqual([]);
    expect((await service.database.calls.findById(callId).lean())?.status).toBe('RINGING');
    await losing.close();
  }, 120_000);
});
