import { randomBytes } from 'node:crypto';
import { createCallQueries } from '../../../src/calls/call-queries.js';
import { createReadWaveform } from '../../../src/calls/views/waveform.js';
import { createRecordings } from '../../../src/voice/recordings/recordings.js';
import { eventually, startService, type Customer, type Service } from '../../support/http/harness.js';
import { managementOf } from '../../support/http/management-support.js';

const MS = 16;

let service: Service;
let customer: Customer;
let callId: string;
let path: string;
let whole: Buffer;

beforeAll(async () => {
  service = await startService({ worker: false });
  customer = await service.customer(0);
  callId = await managementOf(service).endedCall(customer, { hasRecording: true });
  const recordings = createRecordings(service.database);
  // Three chunks, silence between the streams, and a last chunk that is not full.
  for (const [stream, offsetMs] of [0, 7_000].entries()) {
    const writer = recordings.open({ callId, stream, offsetMs }, Promise.resolve(true));
    writer.write(randomBytes(5_001 * MS));
    await writer.close();
  }
  path = `/calls/${callId}/recording`;
  whole = (await read()).body;
}, 60_000);
afterAll(() => service.close());

async function read(headers: Record<string, string> = {}, of = path) {
  const response = await fetch(`${service.baseUrl}${of}`, {
    headers: { Authorization: `Bearer ${customer.liveKey}`, ...headers },
  });
  return { response, status: response.status, body: Buffer.from(await response.arrayBuffer()) };
}

describe('a part of a recording', () => {
  it('has the bytes of the whole at these positions', async () => {
    expect(whole.length).toBe(44 + 2 * 12_001 * MS);
    const ends = [
      0, 1, 20, 43, 44, 45, 46, 64_043, 64_044, 64_045, 160_075, 160_076, 200_001, 224_044, 224_047, 384_075,
    ];
    for (const first of ends) {
      for (const last of [first, first + 1, first + 64_001, whole.length - 1]) {
        const { status, response, body } = await read({ Range: `bytes=${first}-${last}` });
        const end = Math.min(last, whole.length - 1);
        expect(status).toBe(206);
        expect(response.headers.get('Content-Range')).toBe(`bytes ${first}-${end}/${whole.length}`);
        expect(body.equals(whole.subarray(first, end + 1))).toBe(true);
      }
    }
  }, 30_000);

  it('is announced, and sent only if the recording is still the same', async () => {
    const { response } = await read();
    expect(response.headers.get('Accept-Ranges')).toBe('bytes');
    const etag = response.headers.get('ETag') ?? '';
    const part = await read({ Range: 'bytes=44-', 'If-Range': etag });
    expect([part.status, part.body.length]).toEqual([206, whole.length - 44]);
    const changed = await read({ Range: 'bytes=44-', 'If-Range': '"other"' });
    expect([changed.status, changed.body.equals(whole)]).toEqual([200, true]);
  });

  it('after the end is rejected with 416 and the length', async () => {
    const { status, response, body } = await read({ Range: `bytes=${whole.length}-` });
    expect(status).toBe(416);
    expect(response.headers.get('Content-Range')).toBe(`bytes */${whole.length}`);
    expect(JSON.parse(body.toString('utf8'))).toMatchObject({ error_code: 'RANGE_NOT_SATISFIABLE' });
  });
});

describe('a waveform that takes longer than a response may', () => {
  it('is computed to its end, while the response says when to retry', async () => {
    const { database } = service;
    const recordings = createRecordings(database);
    const handle = createReadWaveform({ queries: createCallQueries(database), recordings, respondWithinMs: 0 });
    const ctx = { state: { arrivedAt: Date.now(), minDeadlineMs: 0 } };
    const principal = { account: customer.account, mode: 'live' };
    const late = { code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 5, message: expect.stringContaining('waveform') };
    await expect(handle({ ctx, principal, params: { call_id: callId } } as never)).rejects.toMatchObject(late);
    await eventually(() => database.recordingFiles.exists({ waveform: { $exists: true } }));
    expect((await read({}, `/calls/${callId}/waveform`)).status).toBe(200);
  });
});
