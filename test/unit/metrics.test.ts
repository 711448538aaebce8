import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { registerStateMetrics } from '../../src/calls/state-metrics.js';
import type { Database } from '../../src/database.js';
import { observe, report } from '../../src/platform/telemetry/measurements.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createMetrics } from '../../src/platform/telemetry/metrics/metrics.js';

const lines: string[] = [];
const logger = createLogger({ role: 'test', level: 'info', destination: { write: (line) => void lines.push(line) } });

/** Names and labels of our metrics. Registering the state of the service reads nothing. */
function ownMetrics() {
  const metrics = createMetrics({ role: 'test', logger });
  registerStateMetrics(metrics.registry, {} as Database);
  const all = metrics.registry.getMetricsAsArray() as unknown as {
    name: string;
    help: string;
    type: string;
    labelNames: string[];
  }[];
  metrics.close();
  return all.filter(({ name }) => name.startsWith('callwright_'));
}

describe('the metrics', () => {
  it('are listed in the manual with their labels, and no others', () => {
    const manual = readFileSync(join(__dirname, '../../docs/operations.md'), 'utf8');
    const rows = manual.split('\n').flatMap((line) => {
      const [, name = '', labels = ''] = line.split('|').map((cell) => cell.replaceAll('`', '').trim());
      return name.startsWith('callwright_') ? [`${name} ${labels}`.trim()] : [];
    });
    expect(rows.toSorted()).toEqual(
      ownMetrics()
        .map(({ name, labelNames }) => `${name} ${labelNames.join(', ')}`.trim())
        .toSorted(),
    );
  });

  it('follow the naming rules of Prometheus', () => {
    for (const { name, help, type } of ownMetrics()) {
      expect([name, name.endsWith('_total')]).toEqual([name, String(type) === 'counter']);
      expect(name).toMatch(/^[a-z][a-z0-9_]+$/);
      if (String(type) === 'histogram') expect(name).toMatch(/_seconds$/);
      expect(help).toMatch(/^[A-Z].*[^.]$/);
    }
  });

  it('count only while they are observed', async () => {
    report('brokenRecords', { count: 5 });
    const metrics = createMetrics({ role: 'test', logger });
    report('brokenRecords', { count: 2 });
    const counted = async () =>
      (await metrics.registry.getSingleMetric('callwright_reconciliation_broken_records_total')!.get()).values[0]
        ?.value;
    expect(await counted()).toBe(2);
    const others: number[] = [];
    const forget = observe('brokenRecords', ({ count }) => others.push(count));
    report('brokenRecords', { count: 1 });
    forget();
    report('brokenRecords', { count: 1 });
    expect([await counted(), others]).toEqual([4, [1]]);
    metrics.close();
  });

  it('do not end the process if a value is not a number', () => {
    const metrics = createMetrics({ role: 'test', logger });
    report('stall', { ms: Number.NaN });
    metrics.close();
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { msg: 'measurement not recorded', measurement: 'stall' },
    ]);
  });
});
