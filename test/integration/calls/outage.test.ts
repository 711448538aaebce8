import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { eventually } from '../../support/http/harness.js';
import { startTelephoneStack, type TelephoneStack } from '../../security/support/telephone-stack';

/** Callees of the simulated carrier: one that stays silent, and one that hangs up as soon as it has answered. */
const SILENT = '+12025550107';
const HANGS_UP = '+12025550106';

/** Carries the carrier's requests to the API, as a load balancer does. Rejects connections while it is down. */
async function startFrontDoor() {
  const sockets = new Set<Socket>();
  let target = 0;
  const server = createServer((socket) => {
    const api = connect(target, '127.0.0.1');
    for (const end of [socket, api]) {
      sockets.add(end);
      end.on('error', () => undefined).on('close', () => (sockets.delete(end), socket.destroy(), api.destroy()));
    }
    socket.pipe(api).pipe(socket);
  });
  const open = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await open(0);
  return {
    url: `http://127.0.0.1:${port}`,
    forwardTo: (to: number) => (target = to),
    async down(): Promise<void> {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    up: () => open(port),
  };
}

describe('an outbound call', () => {
  let stack: TelephoneStack;
  let door: Awaited<ReturnType<typeof startFrontDoor>>;

  beforeAll(async () => {
    door = await startFrontDoor();
    stack = await startTelephoneStack({ carrier: 'twilio', env: { PUBLIC_BASE_URL: door.url } });
    door.forwardTo(stack.service.port);
  }, 120_000);
  afterAll(async () => {
    await stack.close();
    await door.down();
  });

  async function place(to: string, more: object = {}) {
    const customer = await stack.service.customer();
    const order = { to_phone_number: to, instruction: 'Hello.', ring_timeout_seconds: 5, ...more };
    const placed = await stack.service.place(customer.liveKey, order);
    expect(placed.status).toBe(200);
    return { customer, callId: String(placed.json['call_id']) };
  }

  it('that is answered while no API process runs is free', async () => {
    const { customer, callId } = await place(SILENT);
    await eventually(async () => (await stack.service.database.carrierBindings.exists({ _id: callId })) !== null);
    await door.down();
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    await door.up();
    // No callback arrived, so the workflow asks the carrier when the ring timeout and its margins are over.
    const ended = () => stack.service.database.calls.findOne({ _id: callId, endTime: { $ne: null } }).lean();
    expect(await eventually(ended, 100_000)).toMatchObject({
      status: 'FAILED',
      endReason: 'media_failed',
      costMicros: 0,
      durationSeconds: 0,
    });
    const { status } = await stack.carrierCall(callId);
    expect(status).toBe('completed');
    const _id = `${customer.account._id}~live~waived~hour`;
    const counted = () => stack.service.database.destinationCounts.findById(_id).lean();
    expect(await eventually(counted)).toMatchObject({ count: 1 });
  }, 120_000);

  it('whose callee hangs up at once is billed, because the carrier got its instruction', async () => {
    const { callId } = await place(HANGS_UP);
    expect(await stack.waitForEnd(callId)).toMatchObject({ status: 'COMPLETED', endReason: 'callee_hangup' });
  }, 120_000);
});
