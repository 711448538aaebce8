import type { ConnectionLike } from '@temporalio/client';
import { createTemporalCheck } from '../../src/platform/temporal/health.js';

type Request = 'getSystemInfo' | 'describeNamespace' | 'describeTaskQueue';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A Temporal server that answers, except for the requests in `faults`. */
function startServer() {
  const asked: Request[] = [];
  const faults = new Map<Request, Error>();
  const answer = (request: Request) => async () => {
    asked.push(request);
    const fault = faults.get(request);
    if (fault !== undefined) throw fault;
    return {};
  };
  const connection = {
    withDeadline: <T>(_deadline: number, request: () => Promise<T>) => request(),
    workflowService: {
      getSystemInfo: answer('getSystemInfo'),
      describeNamespace: answer('describeNamespace'),
      describeTaskQueue: answer('describeTaskQueue'),
    },
  } as unknown as ConnectionLike;
  return { asked, faults, check: createTemporalCheck({ connection, namespace: 'default', taskQueue: 'calls' }) };
}

const grpcError = (code: number) => Object.assign(new Error(`code ${code}`), { code });

it.each(['getSystemInfo', 'describeNamespace', 'describeTaskQueue'] as const)(
  'Temporal does not respond if it does not answer %s, until it does again',
  async (request) => {
    const { check, faults } = startServer();
    faults.set(request, grpcError(14));
    await expect(check()).rejects.toThrow('code 14');
    faults.clear();
    await check();
  },
);

it('only the frontend is asked each time, and the others again after five seconds', async () => {
  const { check, asked } = startServer();
  await Promise.all([check(), check(), check()]);
  expect(asked.toSorted()).toEqual([
    'describeNamespace',
    'describeTaskQueue',
    'getSystemInfo',
    'getSystemInfo',
    'getSystemInfo',
  ]);
  asked.length = 0;
  jest.advanceTimersByTime(4_000);
  await check();
  expect(asked).toEqual(['getSystemInfo']);
  jest.advanceTimersByTime(2_000);
  await check();
  expect(asked).toHaveLength(4);
});

it.each([7, 12])('Temporal responds if it does not let us ask: code %s', async (code) => {
  const { check, faults } = startServer();
  for (const request of ['describeNamespace', 'describeTaskQueue'] as const) faults.set(request, grpcError(code));
  await expect(check()).resolves.toBeUndefined();
});
