import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { environment } from '../../src/platform/config/environment.js';
import { SECRETS } from '../../src/platform/config/secret-variables.js';
import { SET_BY_CHART } from '../structure/helm.js';

const { load } = jest.requireActual<{ load: (text: string) => unknown }>('js-yaml');

// deploy/helm/check renders the chart with Helm. These tests read its files, so they need neither Helm nor Go.
const HELM = join(__dirname, '../../deploy/helm');
const TEMPLATES = join(HELM, 'callwright/templates');
const read = (path: string) => readFileSync(join(HELM, path), 'utf8');
const templates = readdirSync(TEMPLATES)
  .map((name) => readFileSync(join(TEMPLATES, name), 'utf8'))
  .join('\n');

const variables = new Set(Object.keys(environment.shape));
const secrets = new Set<string>(SECRETS.map(({ variable }) => variable));
const texts = z.record(z.string(), z.string());
const valueSet = z.object({
  config: texts,
  secrets: z.record(z.string(), z.object({ secret: z.string(), key: z.string() })),
  worker: z.object({ env: texts.default({}) }).optional(),
});
const sets = readdirSync(join(HELM, 'values')).map(
  (name) => [name, valueSet.parse(load(read(`values/${name}`)))] as const,
);

/** Where each role listens and what its probes ask. The image's health check asks the same ports. */
const ROLES = [
  { role: 'api', port: 'http', number: environment.shape.API_PORT.parse(undefined), ready: '/health/serving' },
  { role: 'media', port: 'http', number: environment.shape.MEDIA_PORT.parse(undefined), ready: '/health/ready' },
  { role: 'worker', port: 'health', number: 8084, ready: '/health/ready' },
  {
    role: 'simulator',
    port: 'http',
    number: environment.shape.SIMULATOR_PORT.parse(undefined),
    ready: '/health/ready',
  },
  { role: 'exporter', port: 'metrics', number: 9465, ready: '/health/live' },
  { role: 'codec', port: 'http', number: environment.shape.CODEC_PORT.parse(undefined), ready: '/health/live' },
];

describe('the Helm chart', () => {
  it('sets variables that exist, and lists them', () => {
    const set = [...templates.matchAll(/^ *- name: ([A-Z][A-Z0-9_]+)$/gm)].map(([, name = '']) => name);
    expect(new Set(set)).toEqual(SET_BY_CHART);
    expect(set.filter((name) => !variables.has(name))).toEqual([]);
    const used = [...templates.matchAll(/\.Values\.config\.([A-Z0-9_]+)|"([A-Z]+_[A-Z0-9_]+)"/g)].map(
      ([, config, secret]) => config ?? secret ?? '',
    );
    expect(used.length).toBeGreaterThan(5);
    expect(used.filter((name) => !variables.has(name))).toEqual([]);
  });

  it.each(sets)('has values in %s for variables that exist, with every secret as a file', (_name, values) => {
    const given = [...Object.keys(values.config), ...Object.keys(values.worker?.env ?? {})];
    expect(given.filter((name) => !variables.has(name) || secrets.has(name) || SET_BY_CHART.has(name))).toEqual([]);
    expect(Object.keys(values.secrets).filter((name) => !secrets.has(name))).toEqual([]);
  });

  it.each(ROLES)('has a Deployment for $role, with its port and the paths of its health checks', (each) => {
    const container = new RegExp(
      `define "callwright\\.container\\.${each.role}" -\\}\\}\n([^]*?)\\{\\{- end \\}\\}`,
    ).exec(templates);
    expect(container?.[1]).toContain(`args: [${each.role}]`);
    expect(container?.[1]).toContain(`{ name: ${each.port}, containerPort: ${each.number} }`);
    expect(container?.[1]).toContain(`"port" "${each.port}" "ready" "${each.ready}"`);
  });

  it('has every role of the service', () => {
    const main = readFileSync(join(HELM, '../../src/main.ts'), 'utf8');
    const roles = /const ROLES = \{([^}]*)\}/.exec(main)?.[1]?.match(/\w+(?=:)/g);
    expect(ROLES.map(({ role }) => role).toSorted()).toEqual(roles?.toSorted());
  });
});
