import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { QUEUES } from '../../src/platform/config/temporal/task-queues.js';
import { VARIABLES, withoutMarkdown } from './configuration.js';
import { ROOT } from './sources.js';

const CHART = 'deploy/helm/callwright';

/** Variables that the chart sets, so that they cannot be in the values `config`. */
export const SET_BY_CHART: ReadonlySet<string> = new Set([
  'NODE_ENV',
  ...['API', 'MEDIA', 'SIMULATOR', 'WORKER', 'METRICS', 'CODEC'].flatMap((role) => [`${role}_HOST`, `${role}_PORT`]),
  'SIMULATOR_URL',
  'DRAIN_DELAY_SECONDS',
  'MEDIA_DRAIN_SECONDS',
  'RATE_DECK_FILE',
  'CARRIER_ACCOUNTS_FILE',
  'WORKER_METRICS_ADDRESS',
  'WORKER_QUEUES',
  'WORKER_DEPLOYMENT_NAME',
  'WORKER_BUILD_ID',
]);
/** Variables that have no use in a cluster. */
const USELESS: ReadonlySet<string> = new Set(['ALLOW_INSECURE_DEVELOPMENT', 'TEMPORAL_POSTGRES_PASSWORD']);
/** Variables that production requires. The service would say so later, when the pods start. */
const REQUIRED = {
  config: ['PUBLIC_BASE_URL', 'STREAM_URL', 'TEMPORAL_ADDRESS', 'CARRIER', 'ALLOWED_COUNTRY_PREFIXES'],
  secrets: ['MONGODB_URI', 'API_KEY_PEPPER', 'ENCRYPTION_KEYS'],
};
const ROLES = ['api', 'media', 'worker', 'simulator', 'exporter', 'codec', 'setup'];

type Schema = Readonly<Record<string, unknown>>;

const TEXT = { type: 'string' };
const FLAG = { type: 'boolean' };
const COUNT = { type: 'integer', minimum: 0 };
const LIST = { type: 'array' };
const TEXTS = { type: 'array', items: TEXT };
const ANY = { type: 'object' };
const ROLE_LIST = { type: 'array', items: { enum: ROLES } };
const INTEGER_OR_TEXT = { type: ['integer', 'string'] };

const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...(required.length > 0 ? { required } : {}),
});
const mapOf = (schema: Schema): Schema => ({ type: 'object', additionalProperties: schema });

const IMAGE = { repository: TEXT, tag: TEXT, digest: { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' } };
const SCHEDULING = { nodeSelector: ANY, tolerations: LIST, affinity: ANY };
const POD = { image: object(IMAGE), resources: ANY, ...SCHEDULING };
const AUTOSCALING = object({
  enabled: FLAG,
  minReplicas: COUNT,
  maxReplicas: COUNT,
  cpu: COUNT,
  metrics: LIST,
  behavior: ANY,
});
const BUDGET = object({ enabled: FLAG, maxUnavailable: INTEGER_OR_TEXT });
const SCALED = { ...POD, replicas: COUNT, podDisruptionBudget: BUDGET };
const SERVED = { ...SCALED, autoscaling: AUTOSCALING, service: object({ type: TEXT, annotations: ANY }) };
const INGRESS = { enabled: FLAG, className: TEXT, annotations: ANY, tlsSecret: TEXT };
const { image: _image, ...GROUPED } = SCALED;
const GROUP = {
  ...GROUPED,
  env: { $ref: '#/definitions/variables' },
  queues: { type: 'array', items: { enum: QUEUES }, minItems: 1 },
  keda: object({
    enabled: FLAG,
    // With none, a scaler would wait for a task that workers create.
    minReplicas: { type: 'integer', minimum: 1 },
    maxReplicas: COUNT,
    targetQueueSize: COUNT,
    queueTypes: TEXT,
    cpu: COUNT,
    pollingInterval: COUNT,
    scaleDownStabilizationSeconds: COUNT,
  }),
};
const VERSIONING = object({
  enabled: FLAG,
  deploymentName: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' },
  buildId: TEXT,
});
const NETWORK_POLICY = object({
  enabled: FLAG,
  ingressNamespaces: TEXTS,
  ingressCidrs: TEXTS,
  metricsNamespaces: TEXTS,
  codecNamespaces: TEXTS,
  dns: LIST,
  publicRoles: ROLE_LIST,
  privateRanges: object({ ipv4: TEXTS, ipv6: TEXTS }),
  servers: mapOf(
    object({ roles: ROLE_LIST, to: LIST, ports: { type: 'array', items: COUNT } }, ['roles', 'to', 'ports']),
  ),
});

const VALUES: Readonly<Record<string, Schema>> = {
  // Helm adds this one to a chart within a chart.
  global: ANY,
  nameOverride: TEXT,
  fullnameOverride: TEXT,
  image: object({ ...IMAGE, pullPolicy: TEXT, pullSecrets: LIST }),
  config: { allOf: [{ $ref: '#/definitions/variables' }, { required: REQUIRED.config }] },
  secrets: { allOf: [{ $ref: '#/definitions/secrets' }, { required: REQUIRED.secrets }] },
  secretsRevision: TEXT,
  rateDeck: object({ configMap: TEXT, key: TEXT }),
  carrierAccounts: object({ secret: TEXT, key: TEXT }),
  listenHost: TEXT,
  drainDelaySeconds: { type: 'integer', minimum: 0, maximum: 60 },
  extraEnv: LIST,
  extraVolumes: LIST,
  extraVolumeMounts: LIST,
  podLabels: ANY,
  podAnnotations: ANY,
  podSecurityContext: ANY,
  ...SCHEDULING,
  priorityClassName: TEXT,
  serviceAccount: object({ annotations: ANY }),
  api: object(SERVED),
  media: object({ ...SERVED, drainSeconds: { type: 'integer', minimum: 8 } }),
  worker: object({
    ...GROUP,
    image: POD.image,
    versioning: VERSIONING,
    groups: {
      type: 'object',
      propertyNames: { pattern: '^[a-z][a-z0-9-]{0,19}$' },
      additionalProperties: object({ ...GROUP, enabled: FLAG }),
    },
  }),
  simulator: object(POD),
  exporter: object({ ...POD, enabled: FLAG }),
  codec: object({ ...POD, enabled: FLAG, ingress: object({ ...INGRESS, host: TEXT }) }),
  setup: object({ ...POD, backoffLimit: COUNT }),
  ingress: object(INGRESS),
  networkPolicy: NETWORK_POLICY,
  monitoring: object({ labels: ANY, serviceMonitors: FLAG, rules: FLAG, interval: TEXT }),
};

/** Returns the text of the schema of the chart's values, with which Helm rejects unknown variables and secrets in values. */
function valuesSchema(): string {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...object(VALUES, ['config', 'secrets']),
    definitions: {
      variables: object(describe(({ name, secret }) => secret === undefined && !SET_BY_CHART.has(name), TEXT)),
      secrets: object(describe(({ secret }) => secret !== undefined, { $ref: '#/definitions/secret' })),
      secret: object({ secret: TEXT, key: TEXT, roles: ROLE_LIST }, ['secret', 'key']),
    },
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function describe(belongs: (variable: (typeof VARIABLES)[number]) => boolean, schema: Schema) {
  const found = VARIABLES.filter((variable) => belongs(variable) && !USELESS.has(variable.name));
  return Object.fromEntries(
    found.map(({ name, description }) => [name, { description: withoutMarkdown(description), allOf: [schema] }]),
  );
}

/** Returns the text of Chart.yaml, with the version of the package. */
function chartFile(): string {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  return read(`${CHART}/Chart.yaml`).replace(/^((?:appV|v)ersion): .*$/gm, `$1: ${version}`);
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The generated files of the Helm chart, each with the function that returns its text. */
export const CHART_FILES: Readonly<Record<string, () => string>> = {
  [`${CHART}/Chart.yaml`]: chartFile,
  [`${CHART}/values.schema.json`]: valuesSchema,
  // Helm reads files of the chart only.
  [`${CHART}/files/rules.yml`]: () => read('deploy/prometheus/rules.yml'),
};
