import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { readHistories } from './recorded-histories.js';

const BUNDLE = path.resolve(__dirname, '../../dist/workers/workflow-bundle.js');

beforeAll(() => {
  // The core prints each failed replay as a warning, and the second test wants them.
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: 'OFF', forward: {} } },
  });
});

async function replay(code: string) {
  const histories = await readHistories();
  const outcomes: Record<string, string> = {};
  const runs = Worker.runReplayHistories(
    { workflowBundle: { code } },
    histories.map(({ name, history }) => ({ workflowId: name, history })),
  );
  for await (const { workflowId, error } of runs) outcomes[workflowId] = error === undefined ? 'ok' : error.name;
  return outcomes;
}

describe('saved histories of calls', () => {
  it('replay on today’s workflow code', async () => {
    const outcomes = await replay(await readFile(BUNDLE, 'utf8'));
    expect(Object.keys(outcomes).length).toBeGreaterThanOrEqual(8);
    expect(new Set(Object.values(outcomes))).toEqual(new Set(['ok']));
  });

  it('fail to replay on code that waits once more, so this guard can fail', async () => {
    const code = await readFile(BUNDLE, 'utf8');
    const beforeTheDial = "call.apply({ type: 'reserved'";
    expect(code).toContain(beforeTheDial);
    const outcomes = await replay(code.replace(beforeTheDial, `await (0, workflow_1.sleep)(1); ${beforeTheDial}`));
    expect(outcomes['completed-10-seconds']).toBe('DeterminismViolationError');
  });
});
