import { Client, Connection } from '@temporalio/client';
import { createPorts } from '../../../src/dev/processes/free-port.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { createSimulator, type Simulator } from '../../../src/telephony/simulator/server.js';
import { eventually, startService, type Service } from '../../support/http/harness.js';
import { startRole } from '../../support/role-process.js';

/** The number of a callee whose phone rings and is not answered. */
const UNANSWERED = '+12025550102';
const SIMULATOR_AUTH_TOKEN = '33333333333333333333333333333333';

let ports: ReturnType<typeof createPorts>;
let simulator: Simulator;
let service: Service;
let temporal: Connection;
let worker: Awaited<ReturnType<typeof startRole>> | undefined;

beforeAll(async () => {
  ports = createPorts(process.env);
  const simulatorPort = await ports.take();
  const env = {
    SIMULATOR_PORT: String(simulatorPort),
    SIMULATOR_URL: `http://127.0.0.1:${simulatorPort}`,
    SIMULATOR_AUTH_TOKEN,
  };
  const config = parseConfig({ NODE_ENV: 'test', ...env });
  simulator = createSimulator({ config, logger: createLogger({ role: 'test', level: 'silent' }) });
  await simulator.listen();
  service = await startService({ env, worker: false });
  temporal = await Connection.connect({ address: service.config.temporal.address });
}, 120_000);

afterEach(() => worker?.kill());

afterAll(async () => {
  await temporal?.close();
  await service?.close();
  await simulator?.close();
  await ports?.release();
});

/** Starts a worker process, places a call, and returns where its workflow waits while the phone rings. */
async function stackWhileRinging(own: Record<string, string>): Promise<string> {
  const { config } = service;
  worker = await startRole('worker', {
    NODE_ENV: 'test',
    ALLOW_INSECURE_DEVELOPMENT: 'true',
    LOG_LEVEL: 'silent',
    MONGODB_URI: config.mongodbUri,
    TEMPORAL_ADDRESS: config.temporal.address,
    TEMPORAL_TASK_QUEUE: config.temporal.taskQueues.calls,
    PUBLIC_BASE_URL: config.publicBaseUrl,
    STREAM_URL: config.streamUrl,
    SIMULATOR_URL: config.carriers.live.baseUrl,
    SIMULATOR_AUTH_TOKEN,
    ...own,
  });
  const { liveKey, agent } = await service.customer();
  const { json } = await service.place(liveKey, { to_phone_number: UNANSWERED, agent_id: agent._id });
  const call = new Client({ connection: temporal }).workflow.getHandle(String(json['call_id']));
  await eventually(async () => (await service.database.calls.findById(call.workflowId).lean())?.status === 'RINGING');
  return call.query<string>('__stack_trace');
}

it('a worker keeps no stack traces of waiting workflow code by default', async () => {
  expect(await stackWhileRinging({})).not.toContain('workflows/');
}, 60_000);

it('WORKER_STACK_FRAMES=10 shows where a workflow waits', async () => {
  expect(await stackWhileRinging({ WORKER_STACK_FRAMES: '10' })).toContain('workflows/');
}, 60_000);
