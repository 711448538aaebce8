import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { packageRoot } from '../../src/dev/servers/cache-folder.js';
import { parseConfig, type Config } from '../../src/platform/config/config.js';
import { makeCertificate, type Certificate } from '../production-shape/certificate.js';
import { likeASecret } from '../support/production.js';
import type { Pod } from './manifests.js';

const key = (name: string) => `2027-01:${Buffer.from(likeASecret(name), 'hex').toString('base64')}`;

function secretsOf(certificate: Certificate): Readonly<Record<string, string>> {
  return {
    MONGODB_URI: `mongodb+srv://callwright:${likeASecret('mongodb')}@cluster.example.net/callwright`,
    ENCRYPTION_KEYS: key('encryption'),
    TEMPORAL_PAYLOAD_KEYS: key('payloads'),
    TEMPORAL_TLS_CERT: certificate.cert,
    TEMPORAL_TLS_KEY: certificate.key,
    TEMPORAL_TLS_CA: certificate.cert,
    TWILIO_AUTH_TOKEN: likeASecret('twilio').slice(0, 32),
  };
}

/** The port on which each role listens. */
const PORTS: Readonly<Record<string, (config: Config) => number | undefined>> = {
  api: ({ api }) => api.port,
  media: ({ media }) => media.port,
  simulator: ({ simulator }) => simulator.port,
  codec: ({ codec }) => codec.port,
  worker: ({ worker }) => worker.port,
};

/** Returns what the service itself finds wrong with the environment of each pod, whose secrets are in files. */
export async function configurationFaults(pods: readonly Pod[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'callwright-chart-'));
  try {
    const secrets = secretsOf(await makeCertificate(folder, ['temporal.internal.example.com']));
    const faults: string[] = [];
    for (const pod of pods) faults.push(...(await faultsOf(pod, folder, secrets)));
    return faults;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function faultsOf(
  { container, role, owner }: Pod,
  folder: string,
  secrets: Readonly<Record<string, string>>,
): Promise<string[]> {
  const env: Record<string, string> = {};
  for (const { name, value } of container.env) {
    env[name] = value;
    if (!value.startsWith('/run/secrets/')) continue;
    const variable = basename(value);
    env[name] = join(folder, variable);
    await writeFile(env[name], secrets[variable] ?? likeASecret(variable));
  }
  // The path is right in the container only.
  if (env.RATE_DECK_FILE !== undefined) env.RATE_DECK_FILE = join(packageRoot(), 'deploy/rates/example.csv');
  if (env.CARRIER_ACCOUNTS_FILE !== undefined) {
    env.CARRIER_ACCOUNTS_FILE = join(folder, 'accounts.json');
    await writeFile(env.CARRIER_ACCOUNTS_FILE, JSON.stringify({ accounts: [] }));
  }
  try {
    const config = parseConfig(env);
    const portOf = (port: string) => container.ports?.find(({ name }) => name === port)?.containerPort;
    const [own, declared] = [PORTS[role]?.(config), portOf('http') ?? portOf('health')];
    const wrong = [
      ...(config.production ? [] : ['is not in production']),
      ...(own === declared ? [] : [`listens on port ${own}, not ${declared}`]),
      ...(role === 'setup' || config.metrics.port === portOf('metrics') ? [] : ['has another port for metrics']),
    ];
    return wrong.map((fault) => `${owner.metadata.name} ${fault}`);
  } catch (error) {
    return [`${owner.metadata.name}: ${error instanceof Error ? error.message : String(error)}`];
  }
}
