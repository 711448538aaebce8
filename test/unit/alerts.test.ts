import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { registerStateMetrics } from '../../src/calls/state-metrics.js';
import type { Database } from '../../src/database.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { createMetrics } from '../../src/platform/telemetry/metrics/metrics.js';

const { load } = jest.requireActual<{ load: (text: string) => unknown }>('js-yaml');

interface Rule {
  alert?: string;
  record?: string;
  expr: string;
  labels?: { severity: string };
  annotations?: { summary: string; runbook: string };
}

const logger = createLogger({ role: 'test', level: 'silent' });
const ROOT = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const { groups } = load(read('deploy/prometheus/rules.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);

/** Metrics of Prometheus itself and of Temporal's SDK; the test of the metrics reads the latter from a worker. */
const OTHERS = ['up', 'temporal_workflow_task_schedule_to_start_latency_seconds'];

function knownMetrics(): Map<string, readonly string[]> {
  const metrics = createMetrics({ role: 'test', logger });
  registerStateMetrics(metrics.registry, {} as Database);
  const all = metrics.registry.getMetricsAsArray() as unknown as { name: string; labelNames: string[] }[];
  metrics.close();
  return new Map(all.map(({ name, labelNames }) => [name, labelNames]));
}

const anchorOf = (heading: string) => heading.toLowerCase().replaceAll(' ', '-');

describe('the alerts', () => {
  it('name metrics and labels that exist', () => {
    const known = knownMetrics();
    for (const { expr } of rules) {
      for (const [, name = '', labels = ''] of expr.matchAll(/\b((?:callwright|temporal)_\w+)(?:\{([^}]*)\})?/g)) {
        const base = name.replace(/_(bucket|count|sum)$/, '');
        expect([name, known.has(name) || known.has(base) || OTHERS.includes(base)]).toEqual([name, true]);
        const allowed = ['le', 'instance', 'job', ...(known.get(name) ?? known.get(base) ?? [])];
        for (const [, label = ''] of labels.matchAll(/(\w+)\s*(?:=~|!=|!~|=)/g)) expect(allowed).toContain(label);
      }
    }
  });

  it('have a summary, a severity and a section of the runbooks, and each section has an alert', () => {
    const sections = [...read('docs/runbooks.md').matchAll(/^## (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
    expect(alerts.length).toBeGreaterThan(20);
    const named = alerts.map(({ alert, labels, annotations }) => {
      expect([alert, ['page', 'ticket'].includes(labels?.severity ?? '')]).toEqual([alert, true]);
      expect(annotations?.summary).toMatch(/^[A-Z].*[^.]$/);
      const [file, anchor = ''] = annotations?.runbook.split('#') ?? [];
      expect(file).toBe('docs/runbooks.md');
      return anchor;
    });
    expect([...new Set(named)].toSorted()).toEqual(sections.toSorted());
  });

  it('use only series that a rule records before', () => {
    const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
    for (const { expr } of alerts) {
      for (const [name] of expr.matchAll(/\bcallwright:\w+:\w+/g)) expect(recorded).toContain(name);
    }
  });
});
