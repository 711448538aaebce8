import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { z } from 'zod';
import { runCommand, type Report } from '../../src/dev/processes/run-command.js';
import { buildOnce } from '../../src/dev/servers/build-once.js';
import { cacheFolder } from '../../src/dev/servers/cache-folder.js';
import { requireOnPath } from '../../src/dev/servers/executables.js';
import { SCALER_FILE, scalerParametersIn } from './scaler.js';
import { customSchemas, kubernetesSchemas, type CustomResourceDefinition, type Schema } from './json-schemas.js';

/** The version of Kubernetes whose schemas are used. */
export const KUBERNETES_VERSION = '1.35.4';
const KUBERNETES = { module: 'k8s.io/kubernetes', version: `v${KUBERNETES_VERSION}` };
const KEDA = { module: 'github.com/kedacore/keda/v2', version: 'v2.21.0', folder: 'config/crd/bases' };
/** Modules with custom resource definitions, and the folders where these are. */
const CUSTOM = [
  KEDA,
  {
    module: 'github.com/prometheus-operator/prometheus-operator',
    version: 'v0.85.0',
    folder: 'example/prometheus-operator-crd',
  },
];
/** Increase it to make the schemas again after a change of this code. */
const FORM = 2;
const DOWNLOAD_TIMEOUT_MS = 900_000;

interface Context {
  env: NodeJS.ProcessEnv;
  report: Report;
}

/**
 * Makes the JSON schemas of Kubernetes, KEDA and the Prometheus Operator from their Go modules, once, in the cache folder.
 * @returns the folder with one file for each kind
 */
export async function makeSchemas({ env, report }: Context): Promise<string> {
  const versions = [KUBERNETES, ...CUSTOM].map(({ version }) => version).join('-');
  return buildOnce({
    folder: join(cacheFolder(env), `kubernetes-schemas-${versions}-${FORM}`),
    what: 'schemas of Kubernetes',
    report,
    build: async (folder) => {
      const modules = join(folder, '.modules');
      await mkdir(modules);
      const download = (module: { module: string; version: string }) =>
        downloadModule(module, modules, { env, report });
      const openApi = await readFile(join(await download(KUBERNETES), 'api/openapi-spec/swagger.json'), 'utf8');
      const { definitions } = JSON.parse(openApi) as { definitions: Record<string, Schema> };
      await write(folder, kubernetesSchemas(definitions));
      for (const each of CUSTOM) {
        for (const crd of await readCrds(join(await download(each), each.folder)))
          await write(folder, customSchemas(crd, definitions));
      }
      const scaler = await readFile(join(await download(KEDA), 'pkg/scalers/temporal_scaler.go'), 'utf8');
      await writeFile(join(folder, SCALER_FILE), JSON.stringify(scalerParametersIn(scaler)));
      await rm(modules, { recursive: true });
    },
  });
}

/** Downloads a module into a folder, which can be deleted afterwards. @returns the folder with its files */
async function downloadModule(
  { module, version }: { module: string; version: string },
  modules: string,
  { env, report }: Context,
): Promise<string> {
  const printed = await runCommand({
    what: `downloading ${module} ${version}`,
    file: await requireOnPath('go', env, 'Install Go 1.25 or later.'),
    args: ['mod', 'download', '-modcacherw', '-json', `${module}@${version}`],
    cwd: modules,
    env: { ...env, GOMODCACHE: modules, GOFLAGS: '' },
    timeoutMs: DOWNLOAD_TIMEOUT_MS,
    report,
  });
  return z.object({ Dir: z.string() }).parse(JSON.parse(printed)).Dir;
}

async function readCrds(folder: string): Promise<CustomResourceDefinition[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml'));
  const files = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  const objects = files.flatMap((text) => loadAll(text)) as (CustomResourceDefinition | null)[];
  const found = objects.filter((each): each is CustomResourceDefinition => each?.kind === 'CustomResourceDefinition');
  if (found.length === 0) throw new Error(`${folder} has no custom resource definition.`);
  return found;
}

async function write(folder: string, schemas: ReadonlyMap<string, Schema>): Promise<void> {
  for (const [name, schema] of schemas) await writeFile(join(folder, name), JSON.stringify(schema));
}
