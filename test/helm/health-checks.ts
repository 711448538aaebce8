import { Registry } from 'prom-client';
import { serviceRoutes } from '../../src/api/contract.js';
import { parseConfig } from '../../src/platform/config/config.js';
import { createLogger } from '../../src/platform/telemetry/logger.js';
import { startMetricsServer } from '../../src/platform/telemetry/metrics/metrics-server.js';
import { startCodecServer } from '../../src/platform/temporal/codec-server/codec-server.js';
import { createPayloadCodec } from '../../src/platform/temporal/payload-codec.js';
import { createSimulator } from '../../src/telephony/simulator/server.js';
import { createMediaHttpServer } from '../../src/voice/media/media-http-server.js';
import { startWorkerHealth } from '../../workers/worker-health.js';
import { likeASecret } from '../support/production.js';
import { podsIn, selectorOf, titleOf, type Manifest } from './manifests.js';

const ADDRESS = { host: '127.0.0.1', port: 0 };
const BALANCER_PATH = 'alb.ingress.kubernetes.io/healthcheck-path';

interface HealthCheck {
  /** The object that asks for it. */
  by: string;
  role: string;
  /** The name of the container's port. */
  port: string;
  path: string;
}

/** The servers of the roles that answer health checks. */
export interface HealthServers {
  serves(check: HealthCheck): Promise<boolean>;
  close(): Promise<void>;
}

/** Starts the servers of all roles but the API, whose routes are in a table. */
export async function startHealthServers(): Promise<HealthServers> {
  const logger = createLogger({ role: 'test', level: 'silent' });
  const media = createMediaHttpServer({
    trustProxy: true,
    health: () => ({ closing: false, calls: 0 }),
    checkReadiness: async () => ({ status: 'ready', mongodb: 'ok' }),
    onUpgrade: () => undefined,
    logger,
  });
  const simulator = createSimulator({ config: parseConfig({ NODE_ENV: 'test', SIMULATOR_PORT: '0' }), logger });
  const worker = await startWorkerHealth({ ...ADDRESS, checkReadiness: () => undefined });
  const codec = await startCodecServer({
    ...ADDRESS,
    token: likeASecret('codec'),
    origins: [],
    codec: createPayloadCodec({ keys: [] }),
    logger,
  });
  const exporter = await startMetricsServer({
    ...ADDRESS,
    registry: new Registry(),
    checkReadiness: async () => undefined,
    logger,
  });
  const ports: Readonly<Record<string, number>> = {
    'media http': await media.listen(ADDRESS),
    'simulator http': (await simulator.listen()).port,
    'worker health': worker.port,
    'codec http': codec.port,
    'exporter metrics': exporter.port,
  };
  return {
    async serves({ role, port, path }) {
      if (role === 'api') return port === 'http' && Object.values(serviceRoutes).some((route) => route.path === path);
      const own = ports[`${role} ${port}`];
      if (own === undefined) return false;
      const { status } = await fetch(`http://127.0.0.1:${own}${path}`);
      return status === 200 || status === 503;
    },
    async close() {
      for (const server of [worker, codec, exporter]) server.close();
      media.closeAll();
      await Promise.all([media.stop(), simulator.close()]);
    },
  };
}

/** Finds health checks of Kubernetes and of load balancers that the role does not answer. */
export async function healthFaults(manifests: readonly Manifest[], servers: HealthServers): Promise<string[]> {
  const faults: string[] = [];
  for (const check of healthChecksIn(manifests)) {
    const { by, role, port, path } = check;
    if (!(await servers.serves(check))) faults.push(`${by} asks ${role} for ${path} on its port ${port}`);
  }
  return faults;
}

function healthChecksIn(manifests: readonly Manifest[]): HealthCheck[] {
  const probes = podsIn(manifests).flatMap(({ owner, role, container }) =>
    [container.startupProbe, container.livenessProbe, container.readinessProbe].flatMap((probe) =>
      probe === undefined ? [] : [{ by: titleOf(owner), role, ...probe.httpGet }],
    ),
  );
  const ingresses = manifests.filter(({ kind }) => kind === 'Ingress');
  return [...probes, ...ingresses.flatMap((ingress) => balancerChecks(ingress, manifests))];
}

/** Returns the health checks of a load balancer that asks the pods itself, as that of AWS does. */
function balancerChecks(ingress: Manifest, manifests: readonly Manifest[]): HealthCheck[] {
  const { metadata, spec } = ingress;
  const paths = (spec.rules ?? []).flatMap(({ http }) => http.paths);
  return paths.flatMap(({ backend }) => {
    const service = manifests.find(
      ({ kind, metadata: { name } }) => kind === 'Service' && name === backend.service.name,
    );
    const common = metadata.annotations?.[BALANCER_PATH] ?? (spec.ingressClassName === 'alb' ? '/' : undefined);
    const path = service?.metadata.annotations?.[BALANCER_PATH] ?? common;
    if (service === undefined || path === undefined) return [];
    const role = selectorOf(service)['app.kubernetes.io/component'] ?? '';
    return (service.spec.ports ?? []).map(({ targetPort }) => ({ by: titleOf(ingress), role, port: targetPort, path }));
  });
}
