import type { CallDocument } from '../../src/calls/call-model.js';
import { openDatabase, type Database } from '../../src/database.js';
import type { Runtime } from '../../src/dev/runtime-file.js';
import { LINE_BROKE } from '../../src/voice/engines/offline/phrases.js';
import { mediaProcessOf, turnsStored, waitFor } from '../support/carried-call.js';
import { launch, type Launched } from '../support/dev-stack.js';
import { createTestBucket, variablesOf, type TestBucket } from '../support/object-storage/bucket.js';
import { placeCall } from '../support/placed-call.js';

jest.setTimeout(300_000);

const BYTES_PER_MS = 32;

describe('a service that stores recordings in S3', () => {
  let stack: Launched;
  let runtime: Runtime;
  let database: Database;
  let bucket: TestBucket;

  beforeAll(async () => {
    bucket = await createTestBucket();
    stack = await launch({ env: { LOG_LEVEL: 'info', ...variablesOf(bucket.name) } });
    runtime = await stack.runtime();
    database = await openDatabase(runtime.mongodb_uri);
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

  it('has the whole recording of a call whose media process was killed, and nothing once it is erased', async () => {
    const { call_id: callId } = await placeCall(runtime.base_url, runtime.live_api_key, {
      to_phone_number: '+12025550111',
      agent_id: runtime.agent_id,
    });
    const before = await turnsStored(database, callId, 1);
    // The first segment contains the first words.
    await waitFor('the first segment', async () => {
      const file = await database.recordingFiles.findById(callId).lean();
      return (file?.objects?.stored ?? 0) > 0 ? file : undefined;
    });
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
});
