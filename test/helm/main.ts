import { podsIn } from './manifests.js';
import { faultsOf } from './checks.js';
import { configurationFaults } from './configuration.js';
import { healthFaults, startHealthServers, type HealthServers } from './health-checks.js';
import { lint, manifestsIn, template, validate, VALUE_SETS } from './helm.js';
import { scalerFaults } from './scaler.js';
import { makeSchemas } from './schemas.js';
import { digestOf, rolloutFaults } from './rollouts.js';
import { buildTools, type Tools } from './tools.js';

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** Arguments of Helm, for the set `small`, that the chart must reject, with a part of its message. */
const REJECTED: readonly (readonly [args: string, message: RegExp])[] = [
  ['--set config.PUBLIC_BASE_URI=https://a.example.com', /PUBLIC_BASE_URI/],
  ['--set-string config.API_PORT=80', /API_PORT/],
  ['--set config.API_KEY_PEPPER=in-the-values', /API_KEY_PEPPER/],
  ['--set secrets.API_KEY_PEPPER=in-the-values', /API_KEY_PEPPER/],
  ['--set config.PUBLIC_BASE_URL=null', /PUBLIC_BASE_URL/],
  ['--set media.drainsSeconds=10', /drainsSeconds/],
  ['--set media.drainSeconds=9', /drainSeconds must be at least drainDelaySeconds/],
  [
    '--set worker.keda.enabled=true --set-string config.TEMPORAL_TLS=true',
    /KEDA connects to Temporal with TLS only if/,
  ],
  ['--set worker.queues={calls}', /No group of worker\.groups serves the queue background/],
  ['--set codec.enabled=true', /codec\.enabled needs secrets\./],
  [`--set image.tag=2.0.0 --set image.digest=${digestOf(1)}`, /has the tag 2\.0\.0 and the digest/],
  [`--set worker.image.tag=2.0.0 --set worker.image.digest=${digestOf(1)}`, /has the tag 2\.0\.0 and the digest/],
];

/** Manifests that kubeconform must reject, made from good ones. */
const BROKEN: readonly (readonly [from: RegExp, to: string])[] = [
  [/terminationGracePeriodSeconds:/, 'terminationGracePeriod:'],
  [/maxReplicaCount: (\d+)/, 'maxReplicaCount: "$1"'],
  [/kind: ServiceMonitor/, 'kind: ServicesMonitor'],
  [/podSelector:/, 'podSelectors:'],
];

/** `deploy/helm/check`: lints, renders and validates the Helm chart with each set of values. */
async function main(): Promise<string[]> {
  const context = { env: process.env, report: say };
  const tools = await buildTools(context.env, context.report);
  const schemas = await makeSchemas(context);
  const faults: string[] = [];
  const servers = await startHealthServers();
  try {
    for (const set of VALUE_SETS) faults.push(...(await checkSet({ tools, schemas, servers }, set)));
    faults.push(...(await unansweredFaults(tools, servers)));
  } finally {
    await servers.close();
  }
  return [
    ...faults,
    ...(await rejections(tools)),
    ...(await brokenManifests(tools, schemas)),
    ...(await versionFaults(tools)),
    ...(await rolloutFaults(tools)),
    ...(await addressFaults(tools)),
  ];
}

async function checkSet(
  { tools, schemas, servers }: { tools: Tools; schemas: string; servers: HealthServers },
  set: string,
): Promise<string[]> {
  await lint(tools, set);
  const { code, stdout, stderr } = await template(tools, set);
  if (code !== 0) return [`${set}: ${stderr}`];
  const manifests = manifestsIn(stdout);
  const faults = [
    ...(await validate(tools, schemas, stdout)),
    ...faultsOf(manifests),
    ...(await healthFaults(manifests, servers)),
    ...(await scalerFaults(manifests, schemas)),
    ...(await configurationFaults(podsIn(manifests))),
  ];
  say(`${set}: ${manifests.length} objects, ${faults.length} faults`);
  return faults.map((fault) => `${set}: ${fault}`);
}

async function rejections(tools: Tools): Promise<string[]> {
  const faults: string[] = [];
  for (const [args, message] of REJECTED) {
    const { code, stderr } = await template(tools, 'small', args.split(' '));
    if (code === 0) faults.push(`The chart accepts ${args}.`);
    else if (!message.test(stderr)) faults.push(`The chart rejects ${args} with: ${stderr}`);
  }
  say(`${REJECTED.length} wrong values tried`);
  return faults;
}

/** Without its annotation, the load balancer asks media processes for `/`, and the check must see that none answers. */
async function unansweredFaults(tools: Tools, servers: HealthServers): Promise<string[]> {
  const { stdout } = await template(tools, 'managed', ['--set', 'media.service.annotations=null']);
  const found = await healthFaults(manifestsIn(stdout), servers);
  return found.length > 0 ? [] : ['The check of health checks sees no path that is not served.'];
}

/** Prometheus must not look for metrics of the SDK on IPv6, where no worker serves them: each would seem to be down. */
async function addressFaults(tools: Tools): Promise<string[]> {
  const monitored = ['--set', 'monitoring.serviceMonitors=true'];
  const faults: string[] = [];
  for (const [listenHost, isServed] of [
    ['0.0.0.0', true],
    ['::', false],
  ] as const) {
    const { stdout } = await template(tools, 'small', [...monitored, '--set', `listenHost=${listenHost}`]);
    const found = [/name: WORKER_METRICS_ADDRESS/, /name: \S+-sdk-metrics$/m, /name: \S+-sdk$/m].map((part) =>
      part.test(stdout),
    );
    if (found.some((isFound) => isFound !== isServed)) faults.push(`SDK metrics on ${listenHost}: ${found.join(', ')}`);
  }
  return faults;
}

async function brokenManifests(tools: Tools, schemas: string): Promise<string[]> {
  const { stdout } = await template(tools, 'production');
  const faults: string[] = [];
  for (const [from, to] of BROKEN) {
    const broken = stdout.replace(from, to);
    if (broken === stdout) faults.push(`The manifests have no ${from}.`);
    else if ((await validate(tools, schemas, broken)).length === 0) faults.push(`kubeconform accepts ${to}`);
  }
  const misnamed = manifestsIn(stdout.replaceAll('workerDeploymentBuildId:', 'workerDeploymentBuildID:'));
  if ((await scalerFaults(misnamed, schemas)).length === 0) faults.push('The check of the scaler sees no wrong name.');
  say(`${BROKEN.length} broken manifests tried`);
  return faults;
}

/** Checks that workers of a new version get objects with new names, and that Helm keeps the old ones. */
async function versionFaults(tools: Tools): Promise<string[]> {
  const versioned = async (tag: string) => {
    const { stdout } = await template(tools, 'production', ['--set-string', `image.tag=${tag}`]);
    return manifestsIn(stdout).filter(
      ({ kind, metadata }) =>
        ['Deployment', 'ScaledObject'].includes(kind) && metadata.labels?.['worker-group'] !== undefined,
    );
  };
  const [before, after] = [await versioned('1.0.0'), await versioned('1.0.1')];
  const names = new Set(before.map(({ metadata }) => metadata.name));
  return [
    ...(before.length > 0 ? [] : ['The set production has no workers.']),
    ...before
      .filter(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'] !== 'keep')
      .map(({ kind, metadata }) => `Helm would delete ${kind} ${metadata.name} while its version drains.`),
    ...after
      .filter(({ metadata }) => names.has(metadata.name))
      .map(({ kind, metadata }) => `${kind} ${metadata.name} belongs to two versions.`),
  ];
}

main().then(
  (faults) => {
    for (const fault of faults) say(fault);
    say(faults.length === 0 ? 'The chart is valid.' : `The chart has ${faults.length} faults.`);
    process.exitCode = faults.length === 0 ? 0 : 1;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
