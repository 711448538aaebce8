import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { packageRoot } from '../../src/dev/servers/cache-folder.js';
import type { Manifest } from './manifests.js';
import { KUBERNETES_VERSION } from './schemas.js';
import type { Tools } from './tools.js';

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;
const CHART = join(packageRoot(), 'deploy/helm/callwright');
const VALUES = join(packageRoot(), 'deploy/helm/values');

/** The names of the tested sets of values, such as `production`. */
export const VALUE_SETS = readdirSync(VALUES)
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => name.slice(0, -'.yaml'.length));

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a tool to its end, with a file as its standard input if there is `input`. */
function run(file: string, args: readonly string[], input = ''): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const options = { timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES };
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') return reject(error);
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
    child.stdin?.end(input);
  });
}

const valuesOf = (set: string) => ['--values', join(VALUES, `${set}.yaml`)];

/** @throws Error with what `helm lint --strict` found */
export async function lint({ helm }: Tools, set: string): Promise<void> {
  const { code, stdout, stderr } = await run(helm, ['lint', '--strict', '--quiet', CHART, ...valuesOf(set)]);
  if (code !== 0) throw new Error(`helm lint, ${set}: ${stdout}${stderr}`);
}

/** Renders the chart. @param args further arguments, such as `--set` */
export async function template({ helm }: Tools, set: string, args: readonly string[] = []): Promise<Ended> {
  const fixed = ['--namespace', 'calls', '--kube-version', KUBERNETES_VERSION];
  return run(helm, ['template', 'callwright', CHART, ...fixed, ...valuesOf(set), ...args]);
}

export function manifestsIn(text: string): Manifest[] {
  return (loadAll(text) as (Manifest | null)[]).filter((each): each is Manifest => each !== null);
}

/**
 * Validates manifests with kubeconform.
 * @returns what is wrong, also if an object was not validated
 */
export async function validate({ kubeconform }: Tools, schemas: string, manifests: string): Promise<string[]> {
  const location = `${schemas}/{{ .ResourceKind }}{{ .KindSuffix }}.json`;
  const args = ['-strict', '-summary', '-output', 'json', '-schema-location', location, '-'];
  const { stdout, stderr } = await run(kubeconform, args, manifests);
  const { resources, summary } = JSON.parse(stdout || '{}') as {
    resources?: { kind: string; name: string; msg: string }[];
    summary?: { valid: number; invalid: number; errors: number; skipped: number };
  };
  if (summary === undefined) return [`kubeconform: ${stderr}`];
  const faults = (resources ?? []).map(({ kind, name, msg }) => `${kind} ${name}: ${msg}`);
  const count = manifestsIn(manifests).length;
  return summary.valid === count ? faults : [...faults, `${summary.valid} of ${count} objects are valid`];
}
