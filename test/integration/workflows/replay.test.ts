import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import * as workflows from '../../../workflows/index.js';
import { readHistories } from './recorded-histories.js';

const BUNDLE = path.resolve(__dirname, '../../../dist/workers/workflow-bundle.js');
/** The code of workers that export traces. */
const TRACED_BUNDLE = path.resolve(__dirname, '../../../dist/workers/workflow-bundle-traced.js');

beforeAll(() => {
  // Temporal's core prints each failed replay as a warning. The last test expects failures, so warnings are off.
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: 'OFF', forward: {} } },
  });
});

/** Counts spans. A worker does not call sinks during a replay, so that no span is sent twice. */
let spans = 0;
const sinks = { exporter: { export: { fn: () => void (spans += 1) } } };

async function replay(code: string) {
  const histories = await readHistories();
  const outcomes: Record<string, string> = {};
  const runs = Worker.runReplayHistories(
    { workflowBundle: { code }, sinks },
    histories.map(({ name, history }) => ({ workflowId: name, history })),
  );
  for await (const { workflowId, error } of runs) outcomes[workflowId] = error === undefined ? 'ok' : error.name;
  return outcomes;
}

describe('saved histories', () => {
  // A running workflow may move from a worker without traces to one with them, so both run the same histories.
  it.each([
    ['the current workflow code', BUNDLE],
    ['the workflow code with traces', TRACED_BUNDLE],
  ])('replay on %s', async (_, bundle) => {
    const outcomes = await replay(await readFile(bundle, 'utf8'));
    expect(Object.keys(outcomes).length).toBeGreaterThanOrEqual(8);
    expect(new Set(Object.values(outcomes))).toEqual(new Set(['ok']));
    expect(spans).toBe(0);
  });

  it('cover every kind of workflow', async () => {
    const types = (await readHistories()).map(
      ({ history }) => history.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name,
    );
    expect(new Set(types)).toEqual(new Set(Object.keys(workflows)));
  });

  it('cover every patch, because running workflows may have begun with it', async () => {
    const folder = path.resolve(__dirname, '../../../workflows');
    const files = (await readdir(folder)).filter((file) => file.endsWith('.ts'));
    const sources = await Promise.all(files.map((file) => readFile(path.join(folder, file), 'utf8')));
    const patches = sources.flatMap((source) => Array.from(source.matchAll(/patched\('([a-z-]+)'\)/g), ([, id]) => id));
    expect(patches.length).toBeGreaterThan(0);
    const markers = (await readHistories()).flatMap(({ history }) =>
      (history.events ?? []).map(({ markerRecordedEventAttributes: marker }) =>
        marker?.markerName === 'core_patch' ? Object.values(marker.details ?? {}) : [],
      ),
    );
    const recorded = markers.flat(2).map(({ payloads }) => Buffer.from(payloads?.[0]?.data ?? []).toString('utf8'));
    const uncovered = patches.filter((id) => !recorded.some((marker) => marker.includes(`"${id}"`)));
    expect(uncovered).toEqual([]);
  });

  it.each([
    ['completed-10-seconds', "call.apply({ type: 'reserved'"],
    ['reconcile-unsent-webhook', "const openFindings = await step('findings'"],
    ['reconcile-nothing-to-do', "const audit = await step('audit'"],
    ['notify-third-attempt', 'await (0, activity_proxies_js_1.deliverWebhook)(input)'],
    ['redeliver-second-attempt', 'await (0, activity_proxies_js_1.deliverWebhook)(input)'],
    ['erased', 'await (0, activity_proxies_js_1.eraseCall)(input)'],
  ])('fail to replay on code with an additional wait, so this guard can fail: %s', async (name, statement) => {
    const code = await readFile(BUNDLE, 'utf8');
    expect(code).toContain(statement);
    const outcomes = await replay(code.replaceAll(statement, `await (0, workflow_1.sleep)(1); ${statement}`));
    expect(outcomes[name]).toBe('DeterminismViolationError');
  });
});
