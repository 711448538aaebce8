import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../../src/kernel/version.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createSdkLogger } from '../../workers/sdk-logger.js';
import { ROOT } from '../structure/sources.js';

const CALL_ID = 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN';

/** Returns the log lines that `act` writes. */
function linesOf(act: (logger: ReturnType<typeof createLogger>) => void): Record<string, unknown>[] {
  const lines: string[] = [];
  act(createLogger({ role: 'worker', level: 'info', destination: { write: (line) => void lines.push(line) } }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('a log line', () => {
  it('names the role, the instance and the version', () => {
    const [line] = linesOf((logger) => logger.info({ callId: CALL_ID }, 'something happened'));
    expect(line).toMatchObject({
      role: 'worker',
      instance: `${hostname()}:${process.pid}`,
      version: VERSION,
      callId: CALL_ID,
      msg: 'something happened',
    });
  });

  it('has the version of the package', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(VERSION).toBe(version);
  });
});

it.each([
  ['The number +12025550143 is not valid', 'The number +1202*** is not valid'],
  ['GET /Calls?To=%2B12025550143&PageSize=1', 'GET /Calls?To=%2B1202***&PageSize=1'],
  ['12025550143 is busy', '1202*** is busy'],
  ['call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN took 61234 ms', 'call_01JD3Q4Z6WX8Y2V7T5R9S1K0MN took 61234 ms'],
  ['CA0123456789012345678901234567890a', 'CA0123456789012345678901234567890a'],
  ['The number +1 202 555 0143 is not valid', 'The number +1 202*** is not valid'],
  ['(+1) is missing in +1 (202) 555-0143.', '(+1) is missing in +1 (202***.'],
  ['busy: +49.30.901820, +44-20-7946-0123', 'busy: +49.30***, +44-20***'],
  ['550 <ann.b+calls@mail.example.com>: mailbox full', '550 <***@***>: mailbox full'],
  ['mongodb://user:secret@db.example.com:27017 timed out', 'mongodb://user:***@***:27017 timed out'],
  [
    'node_modules/@scope/name and name@1.24.0 stay, like 2026-11-27T18:00:00+00:00',
    'node_modules/@scope/name and name@1.24.0 stay, like 2026-11-27T18:00:00+00:00',
  ],
])('the message of an error hides phone numbers and e-mail addresses: %s', (message, logged) => {
  expect(linesOf((logger) => logger.error({ err: new Error(message) }, 'failed'))).toMatchObject([
    { err: { message: logged } },
  ]);
});

it.each(['+', '+1 ', '1', 'a@', 'a.', '(+1 202) '])(
  'a long error of repeated "%s" is masked in linear time',
  (text) => {
    const began = performance.now();
    linesOf((logger) => logger.error({ err: new Error(text.repeat(200_000 / text.length)) }, 'failed'));
    expect(performance.now() - began).toBeLessThan(2_000);
  },
);

describe('a failed activity', () => {
  const meta = {
    workflowId: CALL_ID,
    workflowRunId: 'run',
    workflowType: 'call',
    activityType: 'placeCall',
    activityId: '7',
    attempt: 3,
    taskToken: 'secret',
    taskQueue: 'callwright',
    namespace: 'default',
  };

  it.each([`erase-${CALL_ID}`, `redeliver-${CALL_ID}-2`])(
    'is logged with its call by the workflow %s',
    (workflowId) => {
      const lines = linesOf((logger) => createSdkLogger(logger).warn('Activity failed', { ...meta, workflowId }));
      expect(lines).toMatchObject([{ callId: CALL_ID, workflowId }]);
    },
  );

  it('is logged with its call, its type and its attempt', () => {
    const lines = linesOf((logger) =>
      createSdkLogger(logger).warn('Activity failed', { ...meta, error: new Error('no answer from +12025550123') }),
    );
    expect(lines).toMatchObject([
      {
        msg: 'Activity failed',
        callId: CALL_ID,
        workflowId: CALL_ID,
        workflowType: 'call',
        activityType: 'placeCall',
        attempt: 3,
        err: { type: 'Error', message: 'no answer from +1202***' },
      },
    ]);
    expect(lines[0]).not.toHaveProperty('taskToken');
  });

  it('has no call if it belongs to no call', () => {
    const [line] = linesOf((logger) =>
      createSdkLogger(logger).error('Activity failed', { ...meta, workflowId: 'reconcile-ledger' }),
    );
    expect(line).toMatchObject({ workflowId: 'reconcile-ledger', level: 50 });
    expect(line).not.toHaveProperty('callId');
  });

  it('is not logged if it only waits for its next attempt', () => {
    expect(linesOf((logger) => createSdkLogger(logger).debug('Activity failed', meta))).toEqual([]);
  });
});
