import { randomUUID } from 'node:crypto';
import { percentile, report } from './figures.js';
import { createMediaBench, microsecondsPerFrame, type MediaMeasurement } from './media/measure-media.js';

const CALLS = 200;
/** The maximum lateness of a frame at the 99th percentile. */
const LATENESS_MS = 5;
/** The maximum CPU time per frame, as a multiple of the echo server's CPU time. */
const RATIO = 4;
/** The limit includes the recording: a call keeps up to eight seconds of audio before it stores them as one chunk. */
const MEMORY_PER_CALL_KB = 2_048;
/** The processes of MongoDB and Temporal, which other benchmarks use too. */
const SERVERS = (process.env['TEST_SERVER_PIDS'] ?? '').split(',').filter(Boolean);

let media: Awaited<ReturnType<typeof createMediaBench>>;

beforeAll(async () => {
  media = await createMediaBench({
    calls: CALLS,
    mongodbUri: `${process.env['TEST_MONGODB_URI']}/media_bench_${randomUUID()}`,
    temporalAddress: String(process.env['TEST_TEMPORAL_ADDRESS']),
    serverPids: SERVERS,
  });
});
afterAll(() => media.close());

it(`a media process on one core carries ${CALLS} calls with frames at most ${LATENESS_MS} ms late at p99`, async () => {
  const bare = await media.measureEcho();
  const ours = await media.measureMedia();
  const late = (percent: number, { carriers }: MediaMeasurement) => percentile(carriers.latenessMs, percent);
  report(`${CALLS} calls on one media process, null engine`, {
    'frames/s in': (ours.carriers.framesSent * 1_000) / ours.server.elapsedMs,
    'frames/s out': (ours.carriers.framesReceived * 1_000) / ours.server.elapsedMs,
    'core used %': (ours.server.cpuMs / ours.server.elapsedMs) * 100,
    'bare echo: core used %': (bare.server.cpuMs / bare.server.elapsedMs) * 100,
    'µs of core a frame, both ways': microsecondsPerFrame(ours),
    'bare echo: µs of core a frame': microsecondsPerFrame(bare),
    'ratio to the bare echo': microsecondsPerFrame(ours) / microsecondsPerFrame(bare),
    'lateness p50 ms': late(50, ours),
    [`lateness p99 ms (limit ${LATENESS_MS})`]: late(99, ours),
    'lateness max ms': late(100, ours),
    'event loop late p99 ms': ours.server.loopLateMs,
    'longest garbage collection ms': ours.server.longestGcMs,
    'core taken away, times': ours.server.preempted,
    'bare echo: core taken away, times': bare.server.preempted,
    'bare echo: lateness p99 ms': late(99, bare),
    'caller to engine p50 ms': percentile(ours.server.heardMs, 50),
    'caller to engine p99 ms': percentile(ours.server.heardMs, 99),
    'memory per call kB': ours.bytesPerCall / 1_024,
    'bare echo: memory per call kB': bare.bytesPerCall / 1_024,
  });

  expect(ours.carriers.lost).toBe(0);
  expect(microsecondsPerFrame(ours) / microsecondsPerFrame(bare)).toBeLessThanOrEqual(RATIO);
  expect(ours.bytesPerCall / 1_024).toBeLessThanOrEqual(MEMORY_PER_CALL_KB);
  // If other work delays even the echo server, the lateness of the media server proves nothing.
  if (late(99, bare) <= LATENESS_MS) expect(late(99, ours)).toBeLessThanOrEqual(LATENESS_MS);
  else process.stderr.write('bench: the machine is busy, so lateness is not judged\n');
}, 300_000);
