import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createQueryCheck } from '../support/known-metrics.js';

const { load } = jest.requireActual<{ load: (text: string) => unknown }>('js-yaml');

interface Rule {
  alert?: string;
  record?: string;
  expr: string;
  labels?: { severity: string };
  annotations?: { summary: string; runbook: string };
}

/** A statement of a test of promtool. */
interface AlertTest {
  alertname: string;
  exp_alerts: { exp_labels: { severity: string }; exp_annotations: { summary: string } }[];
}

const ROOT = join(__dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const rules = ['rules.yml', 'fixed-processes.yml'].flatMap((name) => {
  const { groups } = load(read(`deploy/prometheus/${name}`)) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
});
const alerts = rules.filter(({ alert }) => alert !== undefined);

/** Several rules may have one name and severity. */
const ruleKey = (name?: string, labels?: { severity: string }, annotations?: { summary: string }) =>
  `${name} (${labels?.severity}): ${annotations?.summary}`;

const anchorOf = (heading: string) => heading.toLowerCase().replaceAll(' ', '-');

describe('the alerts', () => {
  it('name metrics and labels that exist', () => {
    const unknownIn = createQueryCheck();
    for (const { expr } of rules) expect([expr, unknownIn(expr)]).toEqual([expr, []]);
    expect(unknownIn('sum by (nothing) (rate(callwright_nothing_total{mode="live"}[5m]))')).toEqual([
      'callwright_nothing_total',
      'nothing',
    ]);
    expect(unknownIn('callwright_calls_accepted_total{status="200"}')).toEqual(['status']);
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

  it('fire in a test of the rules, each with its severity', () => {
    const { tests } = load(read('deploy/prometheus/rules.test.yml')) as { tests: { alert_rule_test?: AlertTest[] }[] };
    const fired = tests.flatMap(({ alert_rule_test = [] }) =>
      alert_rule_test.flatMap(({ alertname, exp_alerts }) =>
        exp_alerts.map(({ exp_labels, exp_annotations }) => ruleKey(alertname, exp_labels, exp_annotations)),
      ),
    );
    const known = alerts.map(({ alert, labels, annotations }) => ruleKey(alert, labels, annotations));
    expect(known.filter((key) => !fired.includes(key))).toEqual([]);
    expect(fired.filter((key) => !known.includes(key))).toEqual([]);
  });

  it('use only series that a rule records before', () => {
    const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
    for (const { expr } of alerts) {
      for (const [name] of expr.matchAll(/\bcallwright:\w+:\w+/g)) expect(recorded).toContain(name);
    }
  });
});

it('the example of Alertmanager sends every severity to a receiver of the compose file’s Alertmanager', () => {
  const { route, receivers } = load(read('deploy/alertmanager/alertmanager.example.yml')) as {
    route: { receiver: string; routes: { receiver: string; matchers: string[] }[] };
    receivers: { name: string }[];
  };
  const used = [route.receiver, ...route.routes.map(({ receiver }) => receiver)];
  expect(used.toSorted()).toEqual(receivers.map(({ name }) => name).toSorted());
  expect(route.routes.map(({ matchers }) => matchers)).toEqual([['severity="page"']]);
  const { services } = load(read('docker-compose.yml')) as { services: Record<string, { volumes?: string[] }> };
  expect(services['alertmanager']?.volumes).toContain('./deploy/alertmanager:/etc/alertmanager:ro');
  expect(read('deploy/prometheus/prometheus.yml')).toContain('names: [alertmanager]');
});
