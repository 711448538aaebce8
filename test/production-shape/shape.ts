import { join } from 'node:path';
import { openDatabase, type Database } from '../../src/database.js';
import { runCommand } from '../../src/dev/processes/run-command.js';
import { packageRoot } from '../../src/dev/servers/cache-folder.js';
import { findMongodb } from '../../src/dev/servers/mongodb/find-mongodb.js';
import { mongodbUri, startMongodb } from '../../src/dev/servers/mongodb/start-mongodb.js';
import { startDnsServer } from '../support/dns-server.js';
import { startCollectorStub, type CollectorStub } from '../support/tracing/collector-stub.js';
import { makeCertificate, type Certificate } from './certificate.js';
import { createClient, type Client } from './client.js';
import type { ShapeContext } from './context.js';
import { createCustomer, type Customer } from './customer.js';
import { startCustomerServer } from './customer-server.js';
import type { Options } from './options.js';
import { LOOPBACK } from './place.js';
import { startInstance, type Instance, type RoleName, type RoleRecords } from './roles.js';
import { startCaddy, startEmbeddedProxy } from './servers/proxy.js';
import { startEmbeddedTemporal, startTemporalServer } from './servers/temporal.js';
import { productionSettings, WEBHOOK_HOST, webhookAddress } from './settings.js';
import { setCurrentVersion } from './versions.js';

const SETUP_TIMEOUT_MS = 180_000;
/** The build id of the workers that run at first. */
export const FIRST_BUILD = 'release-1';

/** A whole installation, as in production, on this machine. */
export interface Shape {
  /** The variables of every role. A change applies to processes that start afterwards. */
  env: NodeJS.ProcessEnv;
  database: Database;
  customer: Customer;
  client: Client;
  certificate: Certificate;
  temporalAddress: string;
  carrierUrl: string;
  webhookUrl: string;
  /** How often the webhook of each call has arrived. */
  received: ReadonlyMap<string, number>;
  records: RoleRecords;
  /** Has the traces of all roles. */
  collector: CollectorStub;
  /** The instances that run; a new version replaces the workers. */
  instances: Instance[];
  /** Starts another process of a role. */
  add(role: RoleName, name: string, env?: NodeJS.ProcessEnv): Promise<Instance>;
}

/** Starts two processes of every role that may have two, and everything around them. */
export async function startShape(context: ShapeContext, options: Options): Promise<Shape> {
  const { ports } = context;
  const [proxyPort, simulatorPort] = [await ports.take(), await ports.take()];
  const [api, media] = [await takeTwo(ports), await takeTwo(ports)];
  const { address: host } = context.place('hub');
  const publicName = options.hosts ? host : 'localhost';
  const certificate = await makeCertificate(context.folder, [publicName, WEBHOOK_HOST]);
  const { collector, names, ...customerServer } = await startSurroundings(context, certificate);

  const temporalAddress = await (options.embedded ? startEmbeddedTemporal : startTemporalServer)(context);
  const uri = await startDatabase(context);
  const env = productionSettings({
    publicHost: `${publicName}:${proxyPort}`,
    simulatorUrl: `http://${host}:${simulatorPort}`,
    mongodbUri: uri,
    temporalAddress,
    certificateFile: certificate.certFile,
    nameserver: names.address,
    webhookAddress: customerServer.address,
    collectorUrl: collector.url,
    short: options.embedded,
  });
  await setUp(context, env);
  const database = await openDatabase(uri);
  context.atEnd(() => database.close());
  const { webhookUrl, received } = customerServer;
  const customer = await createCustomer(database, { pepper: env.API_KEY_PEPPER ?? '', webhookUrl });

  const records: RoleRecords = { logs: [], faults: [] };
  const instances: Instance[] = [];
  const add = async (role: RoleName, name: string, own: NodeJS.ProcessEnv = {}, port?: number) => {
    const all = () => ({ ...env, ...own });
    const instance = await startInstance(context, { role, name, env: all, records, ...(port && { port }) });
    instances.push(instance);
    return instance;
  };
  await Promise.all([
    // The carrier's own interface for tests is available on loopback only.
    add('simulator', 'simulator', options.hosts ? { SIMULATOR_HOST: '0.0.0.0' } : {}, simulatorPort),
    ...api.map((port, index) => add('api', `api ${index + 1}`, {}, port)),
    ...media.map((port, index) => add('media', `media ${index + 1}`, {}, port)),
    ...startWorkers({ add }, FIRST_BUILD, options.hosts ? 4 : 2),
    add('exporter', 'exporter'),
  ]);
  await (options.embedded ? startEmbeddedProxy : startCaddy)(context, {
    host,
    port: proxyPort,
    name: publicName,
    certificate,
    api: api.map((port, index) => `${context.place(`api ${index + 1}`).address}:${port}`),
    media: media.map((port, index) => `${context.place(`media ${index + 1}`).address}:${port}`),
  });
  await setCurrentVersion(context, env, FIRST_BUILD);

  const client = createClient({
    baseUrl: env.PUBLIC_BASE_URL ?? '',
    ca: certificate.cert,
    key: customer.liveKey,
    untilAnswered: options.hosts,
  });
  context.atEnd(client.close);
  const carrierUrl = `http://${LOOPBACK.address}:${simulatorPort}`;
  const around = { certificate, temporalAddress, carrierUrl, webhookUrl, received };
  return { env, database, customer, client, records, collector, instances, add, ...around };
}

/** Starts workers with this build id. */
export function startWorkers(shape: Pick<Shape, 'add'>, buildId: string, count = 2): Promise<Instance>[] {
  return Array.from({ length: count }, (_, index) =>
    shape.add('worker', `worker ${index + 1} of ${buildId}`, { WORKER_BUILD_ID: buildId }),
  );
}

/** Starts the servers around the service: the customer's server, its name server, and the collector of traces. */
async function startSurroundings(context: ShapeContext, certificate: Certificate) {
  const { address: host } = context.place('hub');
  const address = webhookAddress();
  const port = await context.ports.take();
  const customerServer = await startCustomerServer({ address, port, certificate });
  context.atEnd(() => customerServer.close());
  const names = await startDnsServer((name) => (name === WEBHOOK_HOST ? { addresses: [address] } : undefined), host);
  context.atEnd(() => names.close());
  const collector = await startCollectorStub({ host });
  context.atEnd(async () => collector.close());
  const { received } = customerServer;
  return { names, collector, address, received, webhookUrl: `https://${WEBHOOK_HOST}:${port}/inbox` };
}

async function takeTwo(ports: ShapeContext['ports']): Promise<number[]> {
  return [await ports.take(), await ports.take()];
}

async function startDatabase(context: ShapeContext): Promise<string> {
  const { folder, env, ports, report, signal } = context;
  const dataFolder = join(folder, 'mongodb');
  const program = await findMongodb({ env, report, signal, dataFolder });
  const port = await ports.take();
  const { address: host, at } = context.place('MongoDB');
  context.keep('MongoDB', await startMongodb({ program, dataFolder, port, host, env, at, signal }));
  const stand = program.kind === 'mongod' ? 'mongod' : 'the stand-in for MongoDB';
  report(`${stand} runs as a single server, so ALLOW_STANDALONE_MONGODB is true`);
  return mongodbUri(program, port, 'callwright', host);
}

/** Prepares the servers for the release, as each deployment does. */
async function setUp({ folder, report, signal }: ShapeContext, env: NodeJS.ProcessEnv): Promise<void> {
  await runCommand({
    what: 'the set-up of the deployment',
    file: process.execPath,
    args: [join(packageRoot(), 'dist/deploy/setup.js')],
    cwd: folder,
    env,
    timeoutMs: SETUP_TIMEOUT_MS,
    report,
    signal,
  });
}
