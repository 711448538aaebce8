import { createCallResults } from '../../src/calls/wiring.js';
import { createCallErasure } from '../../src/calls/steps/erasure.js';
import { createCallRequests } from '../../src/calls/call-requests.js';
import { createIdempotencyKeys } from '../../src/calls/placing/idempotency-keys.js';
import { createCallProjection } from '../../src/calls/projection.js';
import { createRecordings } from '../../src/voice/recordings/recordings.js';
import { newFile } from '../../src/voice/recordings/model.js';
import { createWebhookAttempts } from '../../src/webhooks/attempts.js';
import { createWebhookDeliveries } from '../../src/webhooks/deliveries.js';
import { expectError, startService, type Customer, type Service } from '../support/http/harness.js';
import { managementOf } from '../support/http/management-support.js';

const CHUNK = Buffer.alloc(32_000, 1);
const OURS = Promise.resolve(true);

let service: Service;
let customer: Customer;
let make: ReturnType<typeof managementOf>;
let erase: (callId: string) => Promise<void>;
beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer();
  make = managementOf(service);
  const { database } = service;
  const activities = createCallErasure({
    projection: createCallProjection(database),
    requests: createCallRequests(database),
    results: createCallResults(database),
    recordings: createRecordings(database),
    deliveries: createWebhookDeliveries(database),
    attempts: createWebhookAttempts(database),
    idempotencyKeys: createIdempotencyKeys(database),
  });
  erase = (callId) => activities.eraseCall({ callId });
});
afterAll(() => service.close());

const chunks = () => service.database.connection.collection('recordings.chunks');
const chunksOf = (callId: string) => chunks().countDocuments({ files_id: { $regex: `^${callId}` } });

function beginning(callId: string) {
  return { callId, streamId: 'MZ1', carrierSid: 'CA1', engine: 'offline-demo', startedAt: new Date() };
}

const ending = (callId: string) => ({
  ...beginning(callId),
  agentAudioPlayed: true,
  turns: [],
  endedAt: new Date(),
  endReason: 'carrier_stop' as const,
  summary: 'They said what nobody is to read.',
  outputParameters: '{}',
});

describe('after a call is erased', () => {
  it('none of its audio remains, even if its stream continues', async () => {
    const callId = await make.endedCall(customer);
    const recordings = createRecordings(service.database, { giveUpAfterMs: 500 });
    const writer = recordings.open({ callId, stream: 0, offsetMs: 0 }, OURS);
    writer.write(CHUNK);
    while ((await chunksOf(callId)) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await erase(callId);
    writer.write(CHUNK);
    writer.write(CHUNK);
    await expect(writer.close()).rejects.toThrow(/deleted/);
    expect(await chunksOf(callId)).toBe(0);
  });

  it.each([0, 2])('no audio of stream %i remains that has no file', async (stream) => {
    const callId = await make.endedCall(customer);
    const files_id = stream === 0 ? callId : `${callId}.${stream}`;
    await chunks().insertOne({ _id: `${files_id}:3` as never, files_id, n: 3, data: CHUNK });
    await erase(callId);
    expect(await chunksOf(callId)).toBe(0);
  });

  it('its recording cannot be read', async () => {
    const callId = await make.endedCall(customer);
    await erase(callId);
    const writer = createRecordings(service.database).open({ callId, stream: 0, offsetMs: 0 }, OURS);
    writer.write(CHUNK);
    await expect(writer.close()).rejects.toThrow(/deleted/);
    expect(await chunksOf(callId)).toBe(0);
    expectError(await make.get(`/calls/${callId}/recording`, customer.liveKey), 404, 'NOT_FOUND');
  });

  it('all but its recording is gone if that cannot be deleted yet, and a repeat completes the erasure', async () => {
    const callId = await make.endedCall(customer);
    const { calls, callRequests, recordingFiles, webhookDeliveries } = service.database;
    // No bucket is configured.
    const objects = { bucket: 'elsewhere', prefix: 'recordings/', stored: 0 };
    await recordingFiles.create({ ...newFile({ id: callId, chunkSize: 80_000, offsetMs: 0 }), length: 0, objects });
    await expect(erase(callId)).rejects.toThrow('RECORDING_S3_BUCKET');
    expect((await callRequests.findById(callId).lean())?.toPhoneNumber).toBe('');
    expect((await webhookDeliveries.findById(callId).lean())?.erasedAt).toBeInstanceOf(Date);
    expect((await calls.findById(callId).lean())?.erasedAt).toBeUndefined();
    await recordingFiles.updateOne({ _id: callId }, { $unset: { objects: '' } });
    await erase(callId);
    expect((await calls.findById(callId).lean())?.erasedAt).toBeInstanceOf(Date);
  });

  it('its agent and the agent’s settings are gone', async () => {
    const callId = await make.endedCall(customer);
    const { calls, callRequests } = service.database;
    const agent = {
      name: 'Ms Chen',
      voicemailMessage: 'Ms Chen, call back.',
      transferNumbers: ['+12025550155'],
      firstMessage: 'Hello Ms Chen.',
      keyterms: ['Chen'],
      pronunciations: [{ text: 'Chen', spoken: 'Shen' }],
      tools: [{ name: 't', description: 'd', method: 'GET', url: 'https://chen.example.com', parameters: '{}' }],
    };
    const set = Object.fromEntries(Object.entries(agent).map(([name, value]) => [`agent.${name}`, value]));
    await callRequests.collection.updateOne({ _id: callId as never }, { $set: set });
    await calls.collection.updateOne({ _id: callId as never }, { $set: { agentName: 'Ms Chen' } });
    await erase(callId);
    const left = JSON.stringify([await callRequests.findById(callId).lean(), await calls.findById(callId).lean()]);
    expect(left).not.toMatch(/chen|2025550155/i);
  });

  it('no result is written', async () => {
    const results = createCallResults(service.database);
    const callId = await make.endedCall(customer);
    await erase(callId);
    expect(await results.begin(beginning(callId))).toEqual({ claimed: false });
    expect(await results.finish(ending(callId))).toBe(false);
    expect(await results.find(callId)).toBeNull();
  });
});

describe('an idempotency key', () => {
  it('stores a hash that needs a secret key, so the number cannot be guessed, and none for an erased call', async () => {
    const keys = service.database.idempotencyKeys;
    const request = { to_phone_number: '+12025550100', agent_id: customer.agent._id };
    await service.place(customer.liveKey, request, { 'Idempotency-Key': 'guess-me' });
    await service.place(customer.testKey, request, { 'Idempotency-Key': 'guess-me' });
    const [one, other] = await keys.find().lean();
    // If the hash used no key, the same request would have the same hash in both modes.
    expect(one?.bodyHash).not.toBe(other?.bodyHash);
    await erase(String(one?.callId));
    expect((await keys.findById(one?._id).lean())?.bodyHash).toBe('');
    const again = await service.place(customer.liveKey, request, { 'Idempotency-Key': 'guess-me' });
    expectError(again, 409, 'IDEMPOTENCY_CONFLICT');
  });

  it('is removed when it expires', async () => {
    const indexes = await service.database.idempotencyKeys.collection.indexes();
    expect(indexes).toContainEqual(expect.objectContaining({ key: { expiresAt: 1 }, expireAfterSeconds: 0 }));
  });
});
