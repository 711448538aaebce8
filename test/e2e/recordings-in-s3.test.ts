import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isGrpcServiceError } from '@temporalio/client';
import type { CallDocument } from '../../src/calls/call-model.js';
import { readRunState } from '../../src/calls/runs.js';
import { openDatabase, type Database } from '../../src/database.js';
import type { Runtime } from '../../src/dev/runtime-file.js';
import { WITHHELD_SUMMARY, type StorageMode } from '../../src/kernel/conversation/storage.js';
import { INTRODUCTION, LINE_BROKE } from '../../src/voice/engines/offline/phrases.js';
import { mediaProcessOf, turnsStored, waitFor } from '../support/carried-call.js';
import { launch, type Launched } from '../support/dev-stack.js';
import { createTestBucket, variablesOf, type TestBucket } from '../support/object-storage/bucket.js';
import { placeCall } from '../support/placed-call.js';
import { withTemporalClient } from '../../src/platform/temporal/with-client.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { runAdmin } from '../integration/cli/support/run-cli.js';

jest.setTimeout(300_000);

const BYTES_PER_MS = 32;
/** The gRPC status of a workflow that does not exist. */
const NOT_FOUND = 5;

describe('a service that stores recordings in S3', () => {
  let stack: Launched;
  let runtime: Runtime;
  let database: Database;
  let bucket: TestBucket;
  let environment: Record<string, string>;

  beforeAll(async () => {
    bucket = await createTestBucket();
    stack = await launch({ env: { LOG_LEVEL: 'info', ...variablesOf(bucket.name) } });
    runtime = await stack.runtime();
    database = await openDatabase(runtime.mongodb_uri);
    environment = {
      NODE_ENV: 'test',
      ALLOW_INSECURE_DEVELOPMENT: 'true',
      MONGODB_URI: runtime.mongodb_uri,
      TEMPORAL_ADDRESS: runtime.temporal_address,
      ...variablesOf(bucket.name),
    };
  });
  afterAll(async () => {
    await database?.close();
    await stack?.destroy();
    bucket?.close();
  });

  const request = (path: string, { method = 'GET', range }: { method?: string; range?: string } = {}) =>
    fetch(`${runtime.base_url}${path}`, {
      method,
      headers: { authorization: `Bearer ${runtime.live_api_key}`, ...(range === undefined ? {} : { range }) },
    });

  /** The mean amplitude of the agent's track between two times of the call, given in ms. */
  function agentLoudness(wav: Buffer, from: number, to: number): number {
    const samples: number[] = [];
    for (let ms = from; ms < to; ms++) {
      for (let n = 0; n < 8; n++) {
        const at = 44 + (Math.round(ms) * 8 + n) * 4;
        if (at + 4 <= wav.length) samples.push(Math.abs(wav.readInt16LE(at + 2)));
      }
    }
    return samples.reduce((sum, sample) => sum + sample, 0) / Math.max(1, samples.length);
  }

  /** Sends a request again while the service is too busy. */
  const send = (method: string, path: string, body: object) =>
    waitFor(`a response to ${method} ${path}`, async () => {
      const response = await fetch(`${runtime.base_url}${path}`, {
        method,
        headers: { authorization: `Bearer ${runtime.live_api_key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return response.status === 503 ? undefined : response;
    });

  const isRecorded = (callId: string) =>
    waitFor('the first segment', async () => {
      const file = await database.recordingFiles.findById(callId).lean();
      return (file?.objects?.stored ?? 0) > 0 ? file : undefined;
    });

  const hasEnded = (callId: string) =>
    waitFor(`the end of ${callId}`, async () => {
      const call = await database.calls.findById(callId).lean<CallDocument>();
      return call?.endTime === undefined || call.costMicros === undefined ? undefined : call;
    });

  /** Until then, a workflow stores the end of its call, the transcript and the webhook. */
  const hasClosed = (callId: string) =>
    withTemporalClient(parseConfig(environment), (client) =>
      waitFor(`the end of the workflow of ${callId}`, async () =>
        (await readRunState(client, callId)) === 'running' ? undefined : true,
      ),
    );

  /** Every collection that has a document with all the texts. */
  async function collectionsWith(...texts: string[]): Promise<string[]> {
    const { db } = database.connection;
    const found: string[] = [];
    for (const { collectionName } of (await db?.collections()) ?? []) {
      const documents = await database.connection.collection(collectionName).find({}).toArray();
      const isFound = (document: string) => texts.every((text) => document.includes(text));
      if (documents.some((document) => isFound(JSON.stringify(document)))) found.push(collectionName);
    }
    return found.toSorted();
  }

  /** The workflows whose listing or history contains the text, payloads included. */
  async function workflowsWith(text: string): Promise<string[]> {
    const asText = (value: unknown) =>
      JSON.stringify(value, (_name, inner: unknown) =>
        inner instanceof Uint8Array ? Buffer.from(inner).toString('latin1') : inner,
      );
    return withTemporalClient(parseConfig(environment), async ({ workflow }) => {
      const found: string[] = [];
      for await (const { workflowId, runId, raw } of workflow.list()) {
        // Temporal deletes workflows while they are read.
        const history = await workflow
          .getHandle(workflowId, runId)
          .fetchHistory()
          .catch((error: unknown) => {
            if (isGrpcServiceError(error) && error.code === NOT_FOUND) return undefined;
            throw error;
          });
        if (asText([raw, history]).includes(text)) found.push(workflowId);
      }
      return found;
    });
  }

  /** Whether the files of Temporal's database contain the text, in whatever table. */
  async function isInFilesOfTemporal(text: string): Promise<boolean> {
    const names = (await readdir(stack.dataFolder)).filter((name) => name.startsWith('temporal.db'));
    const files = await Promise.all(names.map((name) => readFile(join(stack.dataFolder, name))));
    return files.some((file) => file.includes(text));
  }

  it('has the whole recording of a call whose media process was killed, and nothing once it is erased', async () => {
    const { call_id: callId } = await placeCall(runtime.base_url, runtime.live_api_key, {
      to_phone_number: '+12025550111',
      agent_id: runtime.agent_id,
    });
    const before = await turnsStored(database, callId, 1);
    // The first segment contains the first words.
    await isRecorded(callId);
    process.kill(await mediaProcessOf(stack, callId), 'SIGKILL');
    const call = await waitFor(`the end of ${callId}`, async () => {
      const found = await database.calls.findById(callId).lean<CallDocument>();
      return found?.endReason !== undefined && found.hasRecording === true ? found : undefined;
    });
    expect(call).toMatchObject({ status: 'COMPLETED', resumptions: 1 });
    expect(await bucket.keysWith(callId)).not.toEqual([]);
    expect(await database.connection.collection('recordings.chunks').countDocuments({})).toBe(0);

    const result = await turnsStored(database, callId, before.turns.length + 1);
    expect(result.turns.map(({ text }) => text)).toContainEqual(expect.stringContaining(LINE_BROKE));
    const bridge = result.turns.find(({ text }) => text.startsWith(LINE_BROKE));
    const first = result.turns[0];
    const whole = await request(`/calls/${callId}/recording`);
    const wav = Buffer.from(await whole.arrayBuffer());
    expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'audio/wav']);
    expect(wav.length).toBe(Number(whole.headers.get('content-length')));
    expect(wav.length).toBeGreaterThan((bridge?.endMs ?? Infinity) * BYTES_PER_MS);
    const begin = first?.startMs ?? 0;
    expect(agentLoudness(wav, begin, Math.min(first?.endMs ?? 0, begin + 1_000))).toBeGreaterThan(100);
    expect(agentLoudness(wav, bridge?.startMs ?? 0, bridge?.endMs ?? 0)).toBeGreaterThan(100);

    const range = `bytes=100001-${Math.floor(wav.length / 2)}`;
    const part = await request(`/calls/${callId}/recording`, { range });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `${range.replace('=', ' ')}/${wav.length}`]);
    const bytes = Buffer.from(await part.arrayBuffer());
    expect(bytes.equals(wav.subarray(100_001, Math.floor(wav.length / 2) + 1))).toBe(true);

    expect((await request(`/calls/${callId}/erase`, { method: 'POST' })).status).toBe(200);
    await waitFor('the erasure', async () => ((await bucket.keysWith(callId)).length === 0 ? true : undefined));
    expect((await request(`/calls/${callId}/recording`)).status).toBe(404);
  });

  it('leave no word of a call that its agent does not keep, even if a media process dies', async () => {
    const CARD = '4111 1111 1111 1111';
    const place = async (fields: object): Promise<string> => {
      const agent = { name: 'A', instruction: 'Say hello.', output_parameters: '{"is_adult":true}', ...fields };
      const created = await send('POST', '/agents', { ...agent, webhook_url: runtime.webhook_inbox_url });
      const { agent_id } = (await created.json()) as { agent_id: string };
      expect(created.status).toBe(200);
      const to = { to_phone_number: '+12025550111', agent_id };
      return (await placeCall(runtime.base_url, runtime.live_api_key, to)).call_id;
    };
    const modes: StorageMode[] = ['everything', 'no_recording', 'no_transcript', 'outcome_only'];
    const calls = await Promise.all(modes.map((storage) => place({ storage })));
    const [killed, redacted] = await Promise.all([
      place({ storage: 'outcome_only' }),
      place({ redact: ['card_numbers'], first_message: `It is ${CARD}.` }),
    ]);
    await turnsStored(database, killed, 1);
    process.kill(await mediaProcessOf(stack, killed), 'SIGKILL');
    const ended = await Promise.all([...calls, killed, redacted].map(hasEnded));
    for (const callId of [...calls, killed, redacted]) {
      await waitFor(`the webhook of ${callId}`, () =>
        database.webhookDeliveries.findOne({ _id: callId, state: 'delivered' }),
      );
    }

    const wordsOf = (callId: string) => collectionsWith(callId, INTRODUCTION);
    const kept = ['calls', 'conversation_results', 'webhook_deliveries'];
    expect(await Promise.all([...calls, killed].map(wordsOf))).toEqual([kept, kept, [], [], []]);
    expect(await collectionsWith(calls[2] ?? '', 'assistant')).toEqual([]);
    const keys = await Promise.all([...calls, killed].map((callId) => bucket.keysWith(callId)));
    expect(keys.map(({ length }) => length > 0)).toEqual([true, false, true, false, false]);
    for (const { outputParameters } of ended.slice(0, 4)) expect(outputParameters).toMatch(/^\{"is_adult":/);
    expect(ended[3]).toMatchObject({ summary: WITHHELD_SUMMARY, status: 'COMPLETED' });
    expect(ended[4]).toMatchObject({ summary: WITHHELD_SUMMARY, status: 'COMPLETED', resumptions: 1 });
    expect(await workflowsWith(INTRODUCTION)).toEqual([]);
    expect(await isInFilesOfTemporal(INTRODUCTION)).toBe(false);

    // Only the agent itself has the number.
    expect(await collectionsWith(redacted, CARD)).toEqual(['call_requests']);
    expect(ended[5]?.transcription).toContain('It is [card number].');
  });

  describe('a phone number', () => {
    /** Of a person who talks until the call is ended. */
    const NUMBER = '+12025550108';
    const OTHER = '+12025550102';
    let calls: string[];

    async function erase(...options: string[]) {
      const { code, stdout, stderr } = await runAdmin(['erase', '--phone', NUMBER, ...options, '--json'], environment);
      return { code, stderr, result: JSON.parse(stdout) as Record<string, unknown> };
    }

    beforeAll(async () => {
      const agent = { agent_id: runtime.agent_id };
      const inbound = { to: '+12025550199', from: NUMBER, forwarded_from: '+12025550199', script: '06' };
      expect((await send('POST', '/phone_numbers', { phone_number: NUMBER })).status).toBe(200);
      const desk = { name: 'Desk', instruction: `Ask ${NUMBER}.`, transfer_numbers: [NUMBER, OTHER] };
      expect((await send('POST', '/agents', desk)).status).toBe(200);
      const placed = await Promise.all([
        placeCall(runtime.base_url, runtime.live_api_key, {
          ...agent,
          to_phone_number: NUMBER,
          webhook_url: runtime.webhook_inbox_url,
        }),
        placeCall(runtime.base_url, runtime.live_api_key, {
          ...agent,
          to_phone_number: OTHER,
          input_parameters: JSON.stringify({
            phone: '+1 (202) 555-0108',
            local: ['202 555 0108', '2025550108'],
            digits: 2_025_550_108,
          }),
        }),
      ]);
      const response = await fetch(`${runtime.carrier_url}/simulator/inbound`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(inbound),
      });
      const { sid } = (await response.json()) as { sid: string };
      const received = await waitFor('the inbound call', () => database.calls.findOne({ carrierSid: sid }).lean());
      calls = [...placed.map(({ call_id: callId }) => callId), received._id];
    });

    it('is not erased from a call in progress, and nothing is without --confirm', async () => {
      const [callId = ''] = calls;
      const { code, result } = await erase();
      expect([code, result['calls_in_progress']]).toEqual([0, expect.arrayContaining([callId])]);
      expect(await collectionsWith(NUMBER)).toEqual(expect.arrayContaining(['agents', 'phone_numbers', 'audit_log']));
      expect(await erase('--confirm')).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('Calls in progress were not erased') as string,
      });
      expect(await database.calls.findById(callId).lean()).toMatchObject({ toPhoneNumber: NUMBER });
    });

    it('leaves no trace in the database, in the object storage and in Temporal', async () => {
      const [callId = '', mentioning = '', received = ''] = calls;
      await isRecorded(callId);
      expect((await request(`/calls/${callId}/cancel`, { method: 'POST' })).status).toBe(200);
      for (const id of calls) {
        await hasEnded(id);
        await hasClosed(id);
      }
      const before = await database.calls.findById(callId).lean<CallDocument>();
      const entries = await database.ledgerEntries.find({}).lean();
      expect(await bucket.keysWith(callId)).not.toEqual([]);
      // The searches find what is there.
      expect(await collectionsWith(NUMBER.slice(1))).toContain('calls');
      expect(await workflowsWith(callId)).toContain(callId);
      expect(await isInFilesOfTemporal(callId)).toBe(true);

      const { code, stderr, result } = await erase('--confirm');
      // The erasures of calls that have just ended still run, and contain no number.
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining('Workflows of erased calls') as string,
      });
      expect(result).toMatchObject({ calls_in_progress: [], not_erased: {} });
      // Without its country code as well, because the other party has the same one.
      for (const text of ['2025550108', '(202) 555-0108', '202 555 0108'])
        expect(await collectionsWith(text)).toEqual([]);
      expect(await bucket.keysWith(callId)).toEqual([]);
      expect(await workflowsWith(NUMBER.slice(1))).toEqual([]);
      expect(await isInFilesOfTemporal(NUMBER.slice(1))).toBe(false);
      const after = await database.calls.findById(callId).lean<CallDocument>();
      const { status, costMicros, durationSeconds } = before ?? {};
      expect(after).toMatchObject({ status, costMicros, durationSeconds, toPhoneNumber: '' });
      expect(await database.calls.findById(received).lean()).toMatchObject({
        fromPhoneNumber: '',
        direction: 'inbound',
      });
      expect(await database.ledgerEntries.find({}).lean()).toEqual(expect.arrayContaining(entries));
      expect(await database.callRequests.findById(mentioning).lean()).toMatchObject({
        toPhoneNumber: OTHER,
        inputParameters: '{"phone":"erased-number","local":["erased-number","erased-number"],"digits":"erased-number"}',
      });
      const audit = await database.auditEntries.find({ action: 'erasePhoneNumber' }).lean();
      expect(audit.map(({ target }) => target)).toContainEqual(expect.stringMatching(/^number_[0-9a-f]{16}$/));
    });

    it('is erased again without an effect', async () => {
      const { result } = await erase('--confirm');
      expect(result).toMatchObject({ calls: 0, calls_that_mention_it: 0, other_documents: {}, accounts: [] });
    });
  });
});
