import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { registerStateMetrics } from '../../src/calls/state-metrics.js';
import type { Database } from '../../src/database.js';
import { LLM_PROVIDERS, STT_PROVIDERS, TTS_PROVIDERS } from '../../src/platform/config/engines/engine-providers.js';
import { observe, report } from '../../src/platform/telemetry/measurements.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createMetrics } from '../../src/platform/telemetry/metrics/metrics.js';
import {
  accountAttemptSchema,
  destinationCountSchema,
  unansweredAttemptSchema,
} from '../../src/telephony/destinations/model.js';

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
    const manual = readFileSync(join(__dirname, '../../docs/operations/monitor.md'), 'utf8');
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

  it('have the series of live calls that alerts count, before the first call', async () => {
    const metrics = createMetrics({ role: 'worker', logger });
    const lines = (await metrics.registry.metrics()).split('\n');
    for (const series of [
      'callwright_call_time_to_dial_seconds_count{mode="live"} 0',
      'callwright_call_time_to_dial_seconds_bucket{le="5",mode="live"} 0',
      'callwright_webhook_ready_delay_seconds_count{mode="live"} 0',
      'callwright_placing_decisions_total{mode="live",outcome="accepted"} 0',
      'callwright_placing_decisions_total{mode="live",outcome="failed"} 0',
      'callwright_next_streams_total{mode="live",line="phone",cause="failure",decision="stream"} 0',
      'callwright_calls_ended_total{mode="live",line="phone",direction="inbound",status="COMPLETED",end_reason="media_failed"} 0',
      'callwright_provider_failures_total{mode="live",part="recogniser",provider="deepgram",blame="provider"} 0',
      'callwright_provider_failures_total{mode="live",part="voice",provider="unknown",blame="unclear"} 0',
      'callwright_writes_given_up_total{name="ledger_accounts"} 0',
    ])
      expect(lines).toContain(series);
    metrics.close();
  });

  it('have the series of every configurable provider’s failures, and of every write that can be given up', async () => {
    const metrics = createMetrics({ role: 'media', logger });
    const labelsOf = async (name: string, label: string) => {
      const { values } = await metrics.registry.getSingleMetric(name)!.get();
      return new Set(values.map(({ labels }) => labels[label]));
    };
    const providers = [STT_PROVIDERS, LLM_PROVIDERS, TTS_PROVIDERS].flatMap((each) => Object.keys(each));
    expect(await labelsOf('callwright_provider_failures_total', 'provider')).toEqual(
      new Set([...providers, 'unknown']),
    );
    const names = await labelsOf('callwright_writes_given_up_total', 'name');
    // Their code names the collection, so the compiler does not know that it is among the names.
    for (const schema of [destinationCountSchema, unansweredAttemptSchema, accountAttemptSchema])
      expect(names).toContain(schema.get('collection'));
    metrics.close();
  });

  it('keep requests of frozen accounts apart, and no others', async () => {
    const metrics = createMetrics({ role: 'api', logger });
    const request = { method: 'POST', route: '/calls', status: 503, mode: 'live', seconds: 0.1 } as const;
    report('httpRequest', { ...request, cause: 'frozen' });
    report('httpRequest', request);
    const counts = (await metrics.registry.metrics()).split('\n').filter((line) => line.includes('_seconds_count{'));
    const labels = 'method="POST",route="/calls",status="503",mode="live"';
    expect(counts).toEqual(
      expect.arrayContaining([
        `callwright_http_request_duration_seconds_count{${labels},cause="frozen"} 1`,
        `callwright_http_request_duration_seconds_count{${labels}} 1`,
      ]),
    );
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
