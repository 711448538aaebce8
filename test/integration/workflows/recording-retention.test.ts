import { createFindings } from '../../../src/calls/reconciliation/findings.js';
import { reconcileNow } from '../../../src/calls/reconciliation/schedule.js';
import { createRecordings } from '../../../src/voice/recordings/recordings.js';
import type { CallDocument } from '../../../src/calls/call-model.js';
import type { CallRequestDocument } from '../../../src/calls/call-request-model.js';
import { createCallProjection } from '../../../src/calls/projection.js';
import { createCarrierEvents } from '../../../src/telephony/carrier-events.js';
import { ledgerAccountId } from '../../../src/kernel/ids.js';
import { placeCall, startHarness, startReceiver, type Harness } from './harness.js';

const DAY_MS = 24 * 60 * 60_000;

describe.each<[days: string, deleted: readonly string[]]>([
  ['30', ['old']],
  ['0', []],
])('a round of reconciliation with a retention of %s days', (days, deleted) => {
  const isOn = days !== '0';
  let harness: Harness;

  beforeAll(async () => {
    const env = {
      TEMPORAL_ADDRESS: process.env.TEST_TEMPORAL_ADDRESS,
      RECORDING_RETENTION_DAYS: days,
      ...(isOn
        ? { CALL_RETENTION_DAYS: '60', TRANSCRIPT_RETENTION_DAYS: '45', CARRIER_EVENT_RETENTION_DAYS: '40' }
        : {}),
    };
    harness = await startHarness({ realTime: true, env });
  }, 120_000);
  afterAll(() => harness.stop());

  /**
   * Stores an ended call with a recording of this age. With `killed`, the recording stays open, as a killed process
   * leaves it.
   */
  async function recordedCall(ageMs: number, killed = false): Promise<string> {
    const { database } = harness;
    const { call } = await placeCall(harness);
    await call.end('busy');
    await call.result();
    const { callId } = call;
    const at = new Date(Date.now() - ageMs);
    await database.calls.updateOne({ _id: callId }, { $set: { hasRecording: true, createdAt: at, updatedAt: at } });
    const writer = createRecordings(database).open({ callId, stream: 0, offsetMs: 0 }, Promise.resolve(true));
    writer.write(Buffer.alloc(32_000 * 2 + 10));
    await writer.close();
    const age = { uploadDate: at };
    await database.recordingFiles.updateOne(
      { _id: callId },
      killed ? { $set: { ...age, open: true }, $unset: { length: '' } } : { $set: age },
    );
    return callId;
  }

  it(`deletes ${deleted.length === 0 ? 'nothing' : 'older recordings completely, and updates their calls'}`, async () => {
    const recordings = createRecordings(harness.database);
    const chunks = harness.database.connection.collection('recordings.chunks');
    const ids = { old: await recordedCall(31 * DAY_MS), young: await recordedCall(29 * DAY_MS) };
    const round = await reconcileNow(harness.config, 60_000);
    expect(round.deletedRecordings).toBe(deleted.length);
    for (const [name, callId] of Object.entries(ids)) {
      const kept = !deleted.includes(name);
      expect((await recordings.read(callId)) !== null).toBe(kept);
      expect(await chunks.countDocuments({ files_id: callId })).toBe(kept ? 3 : 0);
      const call = await harness.database.calls.findById(callId).lean();
      expect(call).toMatchObject({ hasRecording: kept, updatedAt: call?.createdAt });
    }
    expect((await reconcileNow(harness.config, 60_000)).deletedRecordings).toBe(0);
  }, 120_000);

  it('closes recordings that a dead process left open, and keeps those that may still be written', async () => {
    const recordings = createRecordings(harness.database);
    const [abandoned, running] = [await recordedCall(7 * 60 * 60_000, true), await recordedCall(60_000, true)];
    await reconcileNow(harness.config, 60_000);
    // Each stored byte becomes a sample of two bytes in the file, after a header of 44 bytes.
    expect((await recordings.read(abandoned))?.bytes).toBe(44 + 2 * (32_000 * 2 + 10));
    expect(await recordings.read(running)).toBeNull();
  }, 120_000);

  /** Runs a call of 7 s with a transcript and a webhook, and makes it this old. */
  async function conversation(ageDays: number, summary = 'Hi.'): Promise<string> {
    const { database } = harness;
    const receiver = await startReceiver([200]);
    const { call } = await placeCall(harness, { webhookUrl: receiver.url });
    await call.answer();
    await call.startStream();
    await call.endStream();
    await call.end('completed', { durationSeconds: 7 });
    await call.result();
    await receiver.close();
    const { callId } = call;
    const at = new Date(Date.now() - ageDays * DAY_MS);
    await database.calls.updateOne(
      { _id: callId },
      { $set: { createdAt: at, updatedAt: at, transcription: 'agent: Hi.', summary } },
    );
    await database.callRequests.updateOne({ _id: callId }, { $set: { createdAt: at } });
    await createCarrierEvents(database).add({ callId, status: 'completed', sequence: 1 });
    return callId;
  }

  /** The stored documents of a call, by collection. */
  async function storedOf(callId: string) {
    const { calls, callRequests, conversationResults, webhookDeliveries, carrierEvents, callSearch } = harness.database;
    return {
      call: await calls.findById(callId).lean<CallDocument>(),
      request: await callRequests.findById(callId).lean(),
      result: await conversationResults.findById(callId).lean(),
      delivery: await webhookDeliveries.findById(callId).lean(),
      events: await carrierEvents.countDocuments({ callId }),
      terms: await callSearch.countDocuments({ _id: callId }),
    };
  }

  it(`${deleted.length === 0 ? 'keeps' : 'deletes'} calls, transcripts and carrier events of their age`, async () => {
    const { database, config } = harness;
    const [whole, texts, young] = [await conversation(61), await conversation(46), await conversation(39)];
    const unsettled = await conversation(61);
    await database.calls.updateOne({ _id: unsettled }, { $inc: { durationSeconds: 1 } });
    const before = await Promise.all([whole, texts, young, unsettled].map(storedOf));
    await reconcileNow(config, 60_000);
    if (!isOn) {
      expect(await Promise.all([whole, texts, young].map(storedOf))).toEqual(before.slice(0, 3));
      return;
    }
    const owner = { accountId: before[0]?.call?.accountId, mode: before[0]?.call?.mode };
    const gone = { request: null, result: null, delivery: null, events: 0, terms: 0 };
    const bill = { status: 'COMPLETED', durationSeconds: 7, costMicros: before[0]?.call?.costMicros };
    expect(await storedOf(whole)).toMatchObject({ ...gone, call: { owner, ...bill } });
    expect((await storedOf(whole)).call).not.toHaveProperty('toPhoneNumber');
    expect(await storedOf(texts)).toMatchObject({
      call: { transcription: '', toPhoneNumber: before[1]?.call?.toPhoneNumber, ...bill },
      result: { turns: [] },
      delivery: { body: '', url: '' },
      events: 0,
    });
    expect(await storedOf(young)).toEqual(before[2]);
    // A call that its bill contradicts is kept until an operator has resolved this.
    expect(await storedOf(unsettled)).toMatchObject({ request: before[3]?.request, delivery: before[3]?.delivery });

    // Its records are compared again.
    await database.reconciliationCursors.deleteMany({ _id: { $in: ['settlements', 'calls', 'holds'] } });
    await reconcileNow(config, 60_000);
    expect(await storedOf(unsettled)).toMatchObject({ request: before[3]?.request });
    // Resolving does not change the records.
    const id = `bill_mismatch:${unsettled}`;
    expect(await createFindings(database).resolve({ id, by: 'operator', reason: 'It is our loss.' })).toBe(true);
    await database.reconciliationChecks.updateMany({ kind: 'retention' }, { $set: { dueAt: new Date() } });
    await reconcileNow(config, 60_000);
    expect(await storedOf(unsettled)).toMatchObject({
      ...gone,
      call: { owner: { accountId: before[3]?.call?.accountId } },
    });
  }, 120_000);

  if (!isOn) return;
  it.each([
    ['settlement_missing', 'without its settlement'],
    ['call_missing', 'whose read model is lost'],
  ])(
    'deletes a call with the finding %s, %s, once the finding is resolved',
    async (kind) => {
      const { database, config, ledger } = harness;
      const callId = await conversation(61);
      const writer = createRecordings(database).open({ callId, stream: 0, offsetMs: 0 }, Promise.resolve(true));
      writer.write(Buffer.alloc(32_000));
      await writer.close();
      const { accountId, mode } = (await storedOf(callId)).call ?? {};
      await ledger.sweep(ledgerAccountId(String(accountId), mode ?? 'live'));
      const entries = { _id: { $in: [`S${callId}`, `H${callId}~0`] } };
      await database.ledgerEntries.updateMany(entries, { $set: { at: new Date(Date.now() - 61 * DAY_MS) } });
      if (kind === 'call_missing') await database.calls.deleteOne({ _id: callId });
      else await database.ledgerEntries.deleteMany(entries);
      const round = async () => {
        await database.reconciliationCursors.deleteMany({ _id: { $in: ['settlements', 'calls', 'holds'] } });
        await database.reconciliationChecks.updateMany({ kind: 'retention' }, { $set: { dueAt: new Date() } });
        await reconcileNow(config, 60_000);
      };
      await round();
      await round();
      const findings = createFindings(database);
      const id = `${kind}:${callId}`;
      expect(await findings.find(id)).toMatchObject({ kind });
      expect((await storedOf(callId)).request).not.toBeNull();
      expect(await createRecordings(database).read(callId)).not.toBeNull();

      expect(await findings.resolve({ id, by: 'operator', reason: 'It was lost.' })).toBe(true);
      await round();
      expect(await storedOf(callId)).toMatchObject({
        request: null,
        result: null,
        delivery: null,
        events: 0,
        terms: 0,
      });
      expect(await createRecordings(database).read(callId)).toBeNull();
      // The call cannot begin again, and the finding stays resolved.
      expect((await storedOf(callId)).call).toMatchObject({ buriedAt: expect.any(Date) as Date });
      expect(await database.reconciliationChecks.exists({ callId })).toBeNull();
      await round();
      expect(await findings.find(id)).toHaveProperty('resolvedAt');
    },
    120_000,
  );

  it('keeps a call without a settlement while the reconciler has not come to its hold', async () => {
    const { database, config, ledger } = harness;
    const callId = await conversation(61);
    const { accountId, mode } = (await storedOf(callId)).call ?? {};
    await ledger.sweep(ledgerAccountId(String(accountId), mode ?? 'live'));
    await database.ledgerEntries.deleteOne({ _id: `S${callId}` });
    await database.reconciliationCursors.deleteMany({ _id: { $in: ['settlements', 'calls', 'holds'] } });
    await reconcileNow(config, 60_000);
    const id = `settlement_missing:${callId}`;
    const resolved = await createFindings(database).resolve({ id, by: 'operator', reason: 'It was lost.' });
    expect(resolved).toBe(true);
    await database.reconciliationChecks.updateMany({ kind: 'retention' }, { $set: { dueAt: new Date() } });
    await reconcileNow(config, 60_000);
    expect((await storedOf(callId)).request).not.toBeNull();
  }, 120_000);

  it('deletes the transcript of a call whose model wrote the summary of calls without one', async () => {
    const { config } = harness;
    const first = await conversation(46);
    await reconcileNow(config, 60_000);
    const expired = (await storedOf(first)).call;
    expect(expired?.transcription).toBe('');
    const same = await conversation(46, expired?.summary);
    await reconcileNow(config, 60_000);
    expect((await storedOf(same)).call?.transcription).toBe('');
  }, 120_000);

  it('leaves a tombstone that reconciliation and late writes of the call respect', async () => {
    const { database, config } = harness;
    const callId = await conversation(61);
    const request = await database.callRequests.findById(callId).lean<CallRequestDocument>();
    await reconcileNow(config, 60_000);
    const tombstone = (await storedOf(callId)).call;
    expect(tombstone).toHaveProperty('owner');
    const findings = await database.reconciliationFindings.countDocuments({});
    // Every walk begins again, so that the settlement of the call is compared once more.
    await database.reconciliationCursors.deleteMany({ _id: { $in: ['settlements', 'calls', 'holds'] } });
    const round = await reconcileNow(config, 60_000);
    expect([round.newFindings, await database.reconciliationFindings.countDocuments({})]).toEqual([0, findings]);
    const projection = createCallProjection(database);
    const change = { callId, sequence: 99, at: Date.now(), status: 'RINGING' as const };
    expect(await projection.begin(request as CallRequestDocument, change)).toBe('given_up');
    await projection.apply(change);
    await projection.writeTombstone(callId);
    expect((await storedOf(callId)).call).toEqual(tombstone);
  }, 120_000);
});
