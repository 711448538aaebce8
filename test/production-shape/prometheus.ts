import { copyFile, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../src/dev/servers/cache-folder.js';
import { requireOnPath } from '../../src/dev/servers/executables.js';
import { startReady } from '../../src/dev/servers/server-process.js';
import { dashboardQueries } from '../prometheus/dashboard-queries.js';
import type { Finding } from './checks.js';
import type { ShapeContext } from './context.js';
import type { Shape } from './shape.js';

const READY_WITHIN_MS = 30_000;
const UPDATE_EVERY_MS = 1_000;
const SCRAPED_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 1_000;
/** The ports of the roles and of Temporal's SDK in the compose file. */
const PORTS = { roles: 9_465, sdk: 9_464 } as const;

interface Answers {
  targets: { activeTargets: { scrapeUrl: string; health: string; lastError: string }[] };
  rules: {
    groups: { rules: { name: string; health: string; lastError?: string; state?: string }[] }[];
  };
  query_range: { result: unknown[] };
}

/** Parts of queries about what this installation does not use: object storage and the codec server. */
const NOT_USED = ['callwright_object_request_duration_seconds', 'role=~"codec"'];

export interface Prometheus {
  /** Checks what Prometheus has seen, while the roles run. */
  check(): Promise<Finding[]>;
  /** The names of the alerts that fire. */
  firing(): Promise<string[]>;
}

/** Starts the Prometheus on PATH with the configuration and the rules of the deployment. It scrapes this run's roles. */
export async function startPrometheus(context: ShapeContext, shape: Shape): Promise<Prometheus> {
  const { folder, env, ports, signal } = context;
  const file = await requireOnPath('prometheus', env, 'Install it (Debian: `apt-get install prometheus`).');
  const port = await ports.take();
  const base = `http://127.0.0.1:${port}`;
  const beganAt = Date.now();
  const configFile = join(folder, 'prometheus.yml');
  const deployed = await readFile(join(packageRoot(), 'deploy/prometheus/prometheus.yml'), 'utf8');
  await writeFile(configFile, withTargetFiles(deployed, folder));
  for (const name of ruleFilesOf(deployed))
    await copyFile(join(packageRoot(), 'deploy/prometheus', name), join(folder, name));
  await writeTargets(folder, shape);
  const data = ['--storage.tsdb.path', join(folder, 'prometheus-data')];
  const server = await startReady({
    name: 'Prometheus',
    command: { file, args: ['--config.file', configFile, ...data, `--web.listen-address=127.0.0.1:${port}`], env },
    probe: async () => {
      if (!(await fetch(`${base}/-/ready`)).ok) throw new Error('not ready');
    },
    timeoutMs: READY_WITHIN_MS,
    signal,
  });
  context.keep('Prometheus', server);
  let updating = Promise.resolve();
  const update = () => (updating = updating.then(() => writeTargets(folder, shape)));
  const updates = setInterval(() => void update(), UPDATE_EVERY_MS);
  context.atEnd(async () => {
    clearInterval(updates);
    await updating;
  });

  async function ask<Kind extends keyof Answers>(kind: Kind, parameters = {}): Promise<Answers[Kind]> {
    const response = await fetch(`${base}/api/v1/${kind}?${new URLSearchParams(parameters).toString()}`);
    const { data: answer, error } = (await response.json()) as { data: Answers[Kind]; error?: string };
    if (error !== undefined) throw new Error(`${JSON.stringify(parameters)}: ${error}`);
    return answer;
  }

  async function downTargets(): Promise<string[]> {
    const expected = shape.instances.length + shape.instances.filter(({ role }) => role === 'worker').length;
    const deadline = Date.now() + SCRAPED_WITHIN_MS;
    for (;;) {
      const { activeTargets } = await ask('targets');
      const down = activeTargets.filter(({ health }) => health !== 'up');
      const faults = down.map(({ scrapeUrl, health, lastError }) => `${scrapeUrl} is ${health}: ${lastError}`);
      if (activeTargets.length !== expected) faults.push(`${activeTargets.length} targets, expected ${expected}`);
      if (faults.length === 0 || Date.now() > deadline) return faults;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  const rules = async () => (await ask('rules')).groups.flatMap((group) => group.rules);

  return {
    async check() {
      const range = { start: String(beganAt / 1_000), end: String(Date.now() / 1_000), step: '15' };
      const empty: string[] = [];
      for (const { panel, expr } of dashboardQueries()) {
        const { result } = await ask('query_range', { query: expr, ...range });
        if (result.length === 0 && !NOT_USED.some((part) => expr.includes(part))) empty.push(`${panel}: ${expr}`);
      }
      const unhealthy = (await rules()).filter(({ health }) => health !== 'ok');
      return [
        { statement: 'Prometheus reads every process', faults: await downTargets() },
        {
          statement: 'Prometheus evaluates every rule',
          faults: unhealthy.map(({ name, health, lastError }) => `${name} is ${health}: ${lastError}`),
        },
        {
          statement: 'every query of the dashboards returns data, but those of object storage and codec servers',
          faults: empty,
        },
      ];
    },
    firing: async () => (await rules()).filter(({ state }) => state === 'firing').map(({ name }) => name),
  };
}

/** Returns the names of the files with rules. Prometheus says nothing about files that are missing. */
export function ruleFilesOf(config: string): string[] {
  const [, names] = /^rule_files: \[(.+)\]$/m.exec(config) ?? [];
  if (names === undefined) throw new Error('deploy/prometheus/prometheus.yml lists no files with rules.');
  return names.split(', ');
}

/** Replaces the names of Docker Compose by files with the addresses of this run. */
export function withTargetFiles(config: string, folder: string): string {
  const blocks = /^ {4}dns_sd_configs:\n(?: {6}.*\n?)+/gm;
  if (config.match(blocks)?.length !== 2) throw new Error('deploy/prometheus/prometheus.yml has other jobs than two.');
  return config.replace(blocks, (block) => {
    const [kind] = Object.entries(PORTS).find(([, port]) => block.includes(`port: ${port}`)) ?? [];
    if (kind === undefined) throw new Error('deploy/prometheus/prometheus.yml has a job with another port.');
    return `    file_sd_configs:\n      - files: [${join(folder, `${kind}.json`)}]\n        refresh_interval: 2s\n`;
  });
}

async function writeTargets(folder: string, { instances }: Shape): Promise<void> {
  const addresses = {
    roles: instances.map(({ metricsAddress }) => metricsAddress),
    sdk: instances.flatMap(({ sdkMetricsAddress }) => sdkMetricsAddress ?? []),
  };
  for (const [kind, targets] of Object.entries(addresses)) {
    const text = JSON.stringify([{ targets }]);
    const file = join(folder, `${kind}.json`);
    if ((await readFile(file, 'utf8').catch(() => '')) === text) continue;
    // Prometheus must not read half a file.
    await writeFile(`${file}.new`, text);
    await rename(`${file}.new`, file);
  }
}
