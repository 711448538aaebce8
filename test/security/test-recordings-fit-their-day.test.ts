import { parseConfig } from '../../src/platform/config/config.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createRecordings } from '../../src/voice/recordings/recordings.js';
import { createTestRecordingTime } from '../../src/voice/recordings/test-recording-time.js';
import { openLine } from '../integration/voice/support/carrier-line';
import { eventually, openMediaFixture, type MediaFixture } from '../integration/voice/support/media-fixture.js';
import { newCallId } from '../support/store/test-database.js';

const BYTES_PER_SECOND = 16_000;
const WAV_HEADER_BYTES = 44;

let media: MediaFixture;
beforeAll(async () => {
  media = await openMediaFixture({ env: { TEST_RECORDING_MINUTES_PER_DAY: '0' } });
}, 60_000);
afterAll(() => media.close());

const accountId = () => `acct_${newCallId()}`;

/** Records so many seconds of a test call. @returns how many were stored; undefined: there is no recording */
async function record(account: string, seconds: number, callId = newCallId(), stream = 0): Promise<number | undefined> {
  const { database } = media;
  const logger = createLogger({ role: 'test', level: 'silent' });
  const time = createTestRecordingTime({ database, testMinutesPerDay: 1, logger });
  const recordings = createRecordings(database);
  const mayStore = time.ofStream({ accountId: account, callId, stream });
  const key = { callId, stream, offsetMs: 0, test: true };
  const writer = recordings.open(key, Promise.resolve(true), mayStore);
  writer.write(Buffer.alloc(seconds * BYTES_PER_SECOND));
  await writer.close();
  const isReadable = await recordings.seal(callId);
  const recording = await recordings.read(callId);
  expect(recording !== null).toBe(isReadable);
  return recording === null ? undefined : (recording.bytes - WAV_HEADER_BYTES) / 2 / BYTES_PER_SECOND;
}

describe('recordings of an account’s test calls', () => {
  it('have a number of minutes in a UTC day: a recording ends when they are used up, and later calls have none', async () => {
    const [account, other] = [accountId(), accountId()];
    expect(await record(account, 45)).toBe(45);
    expect(await record(account, 45)).toBe(10);
    expect(await record(account, 45)).toBeUndefined();
    expect(await media.database.recordingFiles.countDocuments({})).toBe(2);
    expect(await record(other, 45)).toBe(45);
  });

  it('stay within it when many calls are recorded at once', async () => {
    const account = accountId();
    const stored = await Promise.all(Array.from({ length: 12 }, () => record(account, 30)));
    expect(stored.reduce<number>((sum, seconds) => sum + (seconds ?? 0), 0)).toBe(60);
  });

  it('count once if a write is repeated, and each stream of a call counts', async () => {
    const [account, callId] = [accountId(), newCallId()];
    const { database } = media;
    const logger = createLogger({ role: 'test', level: 'silent' });
    const time = createTestRecordingTime({ database, testMinutesPerDay: 1, logger });
    const [first, second] = [0, 1].map((stream) => time.ofStream({ accountId: account, callId, stream })!);
    const answers = [];
    for (const seconds of [30, 30, 40]) answers.push(await first!(seconds));
    for (const seconds of [20, 20, 30]) answers.push(await second!(seconds));
    expect(answers).toEqual([true, true, true, true, true, false]);
  });

  it('are not made when the day has no minutes, while live calls are recorded', async () => {
    const { carriers } = parseConfig({ NODE_ENV: 'test' });
    for (const mode of ['test', 'live'] as const) {
      const call = await media.placeCall();
      await media.database.callRequests.updateOne({ _id: call.callId }, { $set: { mode } });
      const socket = await media.dialIn(call, { authToken: carriers[mode].authToken });
      const line = openLine(socket, call.carrierSid, call.streamSid);
      await eventually(async () => ((await media.results.find(call.callId))?.turns.length ?? 0) > 0, 30_000);
      line.hangUp();
      await eventually(async () => (await media.results.find(call.callId))?.hasRecording !== undefined);
      expect(await media.results.find(call.callId)).toMatchObject({ hasRecording: mode === 'live' });
      expect((await media.recordings.read(call.callId)) !== null).toBe(mode === 'live');
    }
  }, 120_000);

  it('have 60 minutes by default, and an operator sets others or none', () => {
    const minutes = (value?: string) =>
      parseConfig(value === undefined ? {} : { TEST_RECORDING_MINUTES_PER_DAY: value }).recordings.testMinutesPerDay;
    expect([minutes(), minutes('5'), minutes('none')]).toEqual([60, 5, undefined]);
    expect(() => minutes('-1')).toThrow(/TEST_RECORDING_MINUTES_PER_DAY/);
  });
});
