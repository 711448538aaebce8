import { QuietConnection } from '../../../src/platform/temporal/connection.js';

const connection = QuietConnection.lazy({ address: process.env['TEST_TEMPORAL_ADDRESS'] ?? '' });
afterAll(() => connection.close());
afterEach(() => jest.restoreAllMocks());

const systemInfo = () => connection.workflowService.getSystemInfo({});
const soon = () => Date.now() + 10_000;
const storedDeadline = () => connection.callContextStorage.getStore()?.deadline;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

// Jest itself turns on the hooks of asynchronous work, so a test cannot see whether they are off.
it('turns off its storage after the last of its requests, also when that one fails', async () => {
  const turnedOff = jest.spyOn(connection.callContextStorage, 'disable');
  const long = connection.withDeadline(soon(), async () => {
    await pause(50);
    expect(turnedOff).not.toHaveBeenCalled();
  });
  await connection.withDeadline(soon(), systemInfo);
  await long;
  expect(turnedOff).toHaveBeenCalledTimes(1);
  await expect(connection.withDeadline(Date.now() - 1, systemInfo)).rejects.toThrow('DEADLINE_EXCEEDED');
  expect(turnedOff).toHaveBeenCalledTimes(2);
});

it('keeps the deadlines of requests that overlap, and of one within another', async () => {
  const kept = [100, 2].map((waitMs) =>
    connection.withDeadline(soon() + waitMs, async () => {
      const own = storedDeadline();
      await pause(waitMs);
      await connection.withDeadline(soon(), systemInfo);
      return own !== undefined && storedDeadline() === own;
    }),
  );
  expect(await Promise.all(kept)).toEqual([true, true]);
  await connection.withDeadline(soon(), async () => {
    await expect(connection.withDeadline(Date.now() - 1, systemInfo)).rejects.toThrow('DEADLINE_EXCEEDED');
    expect(storedDeadline()).toBeGreaterThan(Date.now());
    await systemInfo();
  });
});
