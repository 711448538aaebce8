import { createPorts } from '../../../src/dev/processes/free-port.js';
import { parseConfig } from '../../../src/platform/config/config.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { createSimulator, type Simulator } from '../../../src/telephony/simulator/server.js';
import { Client, Connection } from '@temporalio/client';
import { startService, type Customer, type Service } from '../../support/http/harness.js';
import { MONITORING, recordCommands } from '../../support/store/database-commands.js';
import { startReceiver } from '../workflows/harness.js';

/** The number of a callee whose line is busy. */
const BUSY = '+12025550101';

const MOST_COMMANDS = 20;
/** Leases of the rate limits of key and account, which only some requests need. */
const LEASE = 'findAndModify rate_limits';

/** The commands by step, without leases. Nothing else of the service runs meanwhile, and the key and its account are cached. */
const COMMANDS: Record<string, string[]> = {
  'POST /outbound_call': ['find agents', 'find ledger_accounts', 'insert call_requests'],
  reserveCall: ['find accounts', 'find call_requests', 'insert calls', 'update leases', 'update ledger_accounts'],
  dialCallee: ['find carrier_bindings', 'findAndModify carrier_bindings'],
  'POST /carrier/calls/{call_id}/status': ['findAndModify carrier_bindings', 'insert carrier_events'],
  settleCall: [
    'findAndModify calls',
    'findAndModify ledger_accounts',
    'insert call_search',
    'insert ledger_entries',
    'update leases',
  ],
  deliverWebhook: ['findAndModify webhook_deliveries', 'insert webhook_deliveries', 'update webhook_attempts'],
};

let ports: ReturnType<typeof createPorts>;
let simulator: Simulator;
let service: Service;
let customer: Customer;
let temporal: Connection;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let recorder: ReturnType<typeof recordCommands>;

beforeAll(async () => {
  ports = createPorts(process.env);
  const [apiPort, simulatorPort] = [await ports.take(), await ports.take()];
  const env = {
    API_PORT: String(apiPort),
    PUBLIC_BASE_URL: `http://127.0.0.1:${apiPort}`,
    SIMULATOR_PORT: String(simulatorPort),
    SIMULATOR_URL: `http://127.0.0.1:${simulatorPort}`,
    SIMULATOR_AUTH_TOKEN: '33333333333333333333333333333333',
  };
  const logger = createLogger({ role: 'test', level: 'silent' });
  simulator = createSimulator({ config: parseConfig({ NODE_ENV: 'test', ...env }), logger });
  await simulator.listen();
  service = await startService({ env, uriOptions: MONITORING });
  recorder = recordCommands(service.database);
  customer = await service.customer();
  receiver = await startReceiver();
  temporal = await Connection.connect({ address: service.config.temporal.address });
}, 120_000);

afterAll(async () => {
  recorder?.stop();
  await temporal?.close();
  await receiver?.close();
  await service?.close();
  await simulator?.close();
  await ports?.release();
});

/**
 * Makes the API know the customer's key and the numbers of its account, and that no key has changed in the last second. A call
 * from a number to itself is rejected after the numbers were read.
 */
async function cacheKey(): Promise<void> {
  const toItself = { to_phone_number: service.config.carriers.live.fromNumber, agent_id: customer.agent._id };
  expect((await service.place(customer.liveKey, toItself)).status).toBe(400);
  for (let n = 0; n < 3; n++) {
    await service.request('/outbound_call?call_id=call_00000000000000000000000000', { key: customer.liveKey });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Places a call, and waits without any database command until its workflow is over. Returns its commands by step. */
async function placeBusyCall() {
  await cacheKey();
  recorder.clear();
  const answer = await service.place(customer.liveKey, {
    to_phone_number: BUSY,
    agent_id: customer.agent._id,
    webhook_url: receiver.url,
  });
  expect(answer.status).toBe(200);
  const callId = String(answer.json['call_id']);
  const run = new Client({ connection: temporal }).workflow.getHandle(callId);
  expect(await run.result()).toMatchObject({ status: 'FAILED', endReason: 'busy' });
  for (let known = -1; known !== recorder.commands.length;) {
    known = recorder.commands.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  return recorder.stepsOf(callId);
}

describe('a call whose callee is busy, with a completion webhook', () => {
  it('sends exactly these commands to the database', async () => {
    // The first call of an account creates documents and records the use of the key.
    await placeBusyCall();
    const steps = Object.entries(await placeBusyCall());
    const withoutLeases = steps.map(([step, commands]) => [step, commands.filter((command) => command !== LEASE)]);
    expect(Object.fromEntries(withoutLeases)).toEqual(COMMANDS);
    expect(withoutLeases.flatMap(([, commands]) => commands).length).toBeLessThanOrEqual(MOST_COMMANDS);
    expect(receiver.bodies).toHaveLength(2);
  }, 60_000);
});
