import type { CallDocument } from '../../../src/calls/call-model.js';
import { eventually, startService, type Service } from '../../support/http/harness.js';
import { sidOf } from '../../support/sids.js';
import { startGate } from '../voice/support/gate';
import { APOLOGY, startRingingCalls, type RingingCalls } from './support/ringing-calls';

/**
 * The service process that receives the carrier's requests cannot reach Temporal or MongoDB. All other processes can.
 */
let ringing: RingingCalls;
let service: Service;

beforeAll(async () => {
  ringing = await startRingingCalls();
  ({ service } = ringing);
});
afterAll(() => ringing.close());

const CASE_MS = 90_000;

interface Call {
  callId: string;
  sid: string;
}

const status = ({ callId, sid }: Call, fields: Record<string, string>) =>
  service.carrierPost(`/carrier/calls/${callId}/status`, { CallSid: sid, ...fields });

async function reportAnswer(call: Call): Promise<void> {
  await status(call, { CallStatus: 'in-progress', SequenceNumber: '1' });
  await eventually(async () => (await ringing.callOf(call.callId))?.status === 'IN_PROGRESS');
}

/** Stores part of a conversation, as a media server does before its stream breaks. */
async function storeConversation({ callId, sid }: Call): Promise<void> {
  await service.database.conversationResults.create({
    _id: callId,
    carrierSid: sid,
    streamSid: sidOf('MZ', 1),
    startedAt: new Date(),
    agentAudioPlayed: true,
    turns: [{ speaker: 'agent', text: 'Hello.', startMs: 0, endMs: 900 }],
    engine: 'test',
  });
}

async function ended(call: Call): Promise<CallDocument> {
  await status(call, { CallStatus: 'completed', SequenceNumber: '2', CallDuration: '14' });
  return eventually(async () => {
    const stored = await ringing.callOf(call.callId);
    return stored !== null && stored.endTime !== undefined && stored;
  });
}

/**
 * Starts another API process of the same deployment. It reaches MongoDB and Temporal through gates, which the test can
 * shut.
 */
async function startGated() {
  const { host: mongoHost } = new URL(service.config.mongodbUri);
  const mongo = await startGate(mongoHost);
  const temporal = await startGate(service.config.temporal.address);
  const uri = new URL(service.config.mongodbUri);
  uri.host = mongo.address;
  const gated = await startService({
    minDeadlineMs: 0,
    worker: false,
    env: { MONGODB_URI: uri.href, TEMPORAL_ADDRESS: temporal.address },
  });
  return {
    mongo,
    temporal,
    request: ({ callId, sid }: Call, what: 'after-stream' | 'twiml') =>
      gated.carrierPost(`/carrier/calls/${callId}/${what}`, { CallSid: sid }),
    async close(): Promise<void> {
      mongo.open();
      temporal.open();
      // Waits because Temporal's client may be about to try again; a channel that closes now would throw in the
      // client's timer.
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      await gated.close({ databaseIsClosed: true });
      await gated.database.close();
      await mongo.close();
      await temporal.close();
    },
  };
}

describe.each(['temporal', 'mongo'] as const)('a call that loses its stream while %s is unavailable', (store) => {
  it(
    'continues if it is available again in time',
    async () => {
      const gated = await startGated();
      const call = await ringing.placeRingingCall();
      await reportAnswer(call);
      await storeConversation(call);
      gated[store].shut();
      setTimeout(() => gated[store].open(), 4_000);
      expect((await gated.request(call, 'after-stream')).text).toContain('<Parameter name="resumption" value="1"/>');
      await ended(call);
      await gated.close();
    },
    CASE_MS,
  );

  it(
    'gets an apology otherwise and ends as media_failed, billed because the agent was heard',
    async () => {
      const gated = await startGated();
      const call = await ringing.placeRingingCall();
      await reportAnswer(call);
      await storeConversation(call);
      gated[store].shut();
      const answer = await gated.request(call, 'after-stream');
      expect(answer.status).toBe(200);
      expect(answer.text).toMatch(APOLOGY);
      expect(await ended(call)).toMatchObject({
        status: 'COMPLETED',
        endReason: 'media_failed',
        durationSeconds: 14,
        costMicros: 14 * 2_500,
      });
      await gated.close();
    },
    CASE_MS,
  );
});

describe('a call that is answered while MongoDB is unavailable', () => {
  it(
    'gets an apology and ends as media_failed at no cost',
    async () => {
      const gated = await startGated();
      const call = await ringing.placeRingingCall();
      gated.mongo.shut();
      expect((await gated.request(call, 'twiml')).text).toMatch(APOLOGY);
      await status(call, { CallStatus: 'in-progress', SequenceNumber: '1' });
      expect(await ended(call)).toMatchObject({ status: 'FAILED', endReason: 'media_failed', costMicros: 0 });
      await gated.close();
    },
    CASE_MS,
  );
});

describe('a signal that a call was given up', () => {
  it('is ignored if it names another carrier call', async () => {
    const call = await ringing.placeRingingCall();
    await reportAnswer(call);
    await storeConversation(call);
    const signal = { kind: 'given_up', at: Date.now(), carrierSid: sidOf('CA', 7), reason: 'media_failed' } as const;
    await service.gateway.signalMedia(call.callId, signal, 'given_up');
    expect(await ended(call)).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup' });
  });
});
