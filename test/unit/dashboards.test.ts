import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { createQueryCheck } from '../support/known-metrics.js';

const { load } = jest.requireActual<{ load: (text: string) => unknown }>('js-yaml');

const ROOT = join(__dirname, '../..');
const FOLDER = join(ROOT, 'deploy/grafana/dashboards');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const datasource = z.object({ type: z.literal('prometheus'), uid: z.string() });
const gridPos = z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() });
const dashboardSchema = z.object({
  uid: z.string(),
  title: z.string(),
  panels: z.array(
    z.object({
      title: z.string(),
      description: z.string(),
      gridPos,
      datasource,
      targets: z.array(z.object({ expr: z.string(), datasource })).min(1),
    }),
  ),
});
const dashboards = readdirSync(FOLDER).map((name) => ({
  name,
  ...dashboardSchema.parse(JSON.parse(readFileSync(join(FOLDER, name), 'utf8'))),
}));
const expressions = dashboards.flatMap(({ panels }) =>
  panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
);

describe('the dashboards', () => {
  it('are an overview, one for each role, one for all processes, and one for money', () => {
    const names = ['api', 'codec', 'exporter', 'media', 'money', 'overview', 'processes', 'simulator', 'worker'];
    expect(dashboards.map(({ name }) => name).toSorted()).toEqual(names.map((name) => `callwright-${name}.json`));
    for (const { name, uid } of dashboards) expect(name).toBe(`${uid}.json`);
  });

  it('name metrics and labels that exist', () => {
    const unknownIn = createQueryCheck();
    expect(expressions.length).toBeGreaterThan(60);
    for (const expr of expressions) expect([expr, unknownIn(expr)]).toEqual([expr, []]);
  });

  it('of a role show the commands to MongoDB of that role alone', () => {
    const ofRoles = dashboards.flatMap(({ name, panels }) =>
      panels
        .filter(({ title }) => title.includes('ommands to MongoDB'))
        .flatMap(({ targets }) => targets.map(({ expr }) => ({ role: /-(\w+)\.json$/.exec(name)?.[1], expr }))),
    );
    expect(new Set(ofRoles.map(({ role }) => role))).toEqual(new Set(['api', 'worker', 'exporter']));
    for (const { role, expr } of ofRoles) {
      const filters = expr.split(`callwright_build_info{role=~"${role}"}`).length - 1;
      expect([expr, filters]).toEqual([expr, expr.split('callwright_mongodb_').length - 1]);
    }
  });

  it('show which processes serve, and whether MongoDB and Temporal respond to them', () => {
    for (const metric of ['callwright_serving', 'callwright_dependency_up'])
      expect(expressions.filter((expr) => expr.includes(metric)).length).toBeGreaterThan(0);
  });

  it('draw no line without a name beside those of labels', () => {
    for (const expr of expressions) expect(expr).not.toMatch(/\bby \([^]* or vector\(0\)$/);
  });

  it('use only series that a rule of Prometheus records', () => {
    const { groups } = load(read('deploy/prometheus/rules.yml')) as { groups: { rules: { record?: string }[] }[] };
    const recorded = new Set(groups.flatMap(({ rules }) => rules.flatMap(({ record }) => record ?? [])));
    const used = expressions.flatMap((expr) => [...expr.matchAll(/\bcallwright:\w+:\w+/g)].map(([name]) => name));
    expect(used.length).toBeGreaterThan(0);
    for (const name of used) expect(recorded).toContain(name);
  });

  it('show every metric that docs/operations/monitor.md lists, or an alert watches it', () => {
    const listed = [...read('docs/operations/monitor.md').matchAll(/^\| `(callwright_\w+)`/gm)].map(
      ([, name = '']) => name,
    );
    const watched = [...expressions, read('deploy/prometheus/rules.yml')].join('\n');
    expect(listed.length).toBeGreaterThan(20);
    const unseen = listed.filter((name) => !watched.includes(name));
    // Counted for the record; nothing is wrong when recordings are deleted.
    expect(unseen).toEqual(['callwright_recordings_deleted_total']);
  });

  it('refer to sections of the runbooks that exist', () => {
    const sections = [...read('docs/runbooks.md').matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    for (const { panels } of dashboards) {
      for (const { description } of panels) {
        const named = [...description.matchAll(/runbooks? ("[^.]+)/g)].flatMap(([, names = '']) =>
          names.split(' and '),
        );
        for (const name of named) expect(sections).toContain(name.replaceAll('"', ''));
      }
    }
  });

  it('place no panel over another', () => {
    for (const { panels, title } of dashboards) {
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
      );
      expect([title, new Set(cells).size]).toEqual([title, cells.length]);
      for (const { gridPos: at } of panels) expect(at.x + at.w).toBeLessThanOrEqual(24);
    }
  });

  it('read from the data source that is provisioned, which Docker Compose starts', () => {
    const provisioned = load(read('deploy/grafana/provisioning/datasources/prometheus.yml')) as {
      datasources: { uid: string; url: string }[];
    };
    const { services } = load(read('docker-compose.yml')) as { services: Record<string, { volumes?: string[] }> };
    const [source] = provisioned.datasources;
    expect(Object.keys(services)).toContain(new URL(source?.url ?? '').hostname);
    for (const { panels } of dashboards) {
      for (const panel of panels) {
        for (const each of [panel, ...panel.targets]) expect(each.datasource.uid).toBe(source?.uid);
      }
    }
    expect(services['grafana']?.volumes).toEqual([
      './deploy/grafana/provisioning:/etc/grafana/provisioning:ro',
      './deploy/grafana/dashboards:/etc/callwright/dashboards:ro',
    ]);
  });
});
