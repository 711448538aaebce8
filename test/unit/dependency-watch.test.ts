import { watchDependencies } from '../../src/platform/telemetry/dependency-watch.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createMetrics } from '../../src/platform/telemetry/metrics/metrics.js';

const settled = () => jest.advanceTimersByTimeAsync(0);

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

it('a dependency that does not respond is in the metrics, and logged once by its name', async () => {
  const lines: object[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as object) };
  const logger = createLogger({ role: 'test', level: 'info', destination });
  const metrics = createMetrics({ role: 'test', logger });
  const states = async () => {
    const { values } = await metrics.registry.getSingleMetric('callwright_dependency_up')!.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels['dependency'], value]));
  };
  let mongodb = () => Promise.resolve();
  const checks = { mongodb: () => mongodb(), temporal: () => Promise.resolve() };
  expect(await states()).toEqual({});

  const watch = watchDependencies({ checks, logger });
  await settled();
  expect(await states()).toEqual({ mongodb: 1, temporal: 1 });

  mongodb = () => new Promise(() => undefined);
  await jest.advanceTimersByTimeAsync(20_000);
  expect(await states()).toEqual({ mongodb: 0, temporal: 1 });
  expect(lines).toMatchObject([
    {
      level: 40,
      msg: 'dependency does not respond',
      dependency: 'mongodb',
      err: { message: 'No response within 1 s.' },
    },
  ]);

  mongodb = () => Promise.reject(new Error('The server is starting.'));
  await jest.advanceTimersByTimeAsync(5_000);
  mongodb = () => Promise.resolve();
  await jest.advanceTimersByTimeAsync(20_000);
  expect(await states()).toEqual({ mongodb: 1, temporal: 1 });
  expect(lines.slice(1)).toMatchObject([{ level: 30, msg: 'dependency responds again', dependency: 'mongodb' }]);

  mongodb = () => Promise.reject(new Error('The connection is closed.'));
  await watch.close();
  await jest.advanceTimersByTimeAsync(20_000);
  expect(await states()).toEqual({ mongodb: 1, temporal: 1 });
  metrics.close();
});
