import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { encodeCrockford } from '../../../src/kernel/ids.js';
import { createLogger } from '../../../src/platform/telemetry/logger.js';
import { legIdOf } from '../../../src/telephony/web/leg.js';
import { createWebLegs } from '../../../src/telephony/web/legs.js';
import { createLegTokens, hashOfToken } from '../../../src/telephony/web/tokens.js';
import { createStreamSlots } from '../../../src/voice/media/stream-slots.js';
import { createBrowserSockets, type BrowserSocketDeps } from '../../../src/voice/web/browser-sockets.js';
import { openTestDatabase } from '../../support/store/test-database';
import { openBrowserLine } from './browser-line';

const PEPPER = 'a pepper for tests of browser admission';

let database: Awaited<ReturnType<typeof openTestDatabase>>;
let server: Server;
let sockets: ReturnType<typeof createBrowserSockets>;
let counts = { slots: 0, verified: 0 };
let isClosing = false;
let onAdmit: () => void = () => undefined;

beforeAll(async () => {
  database = await openTestDatabase('browser_admission');
  const slots = createStreamSlots({ all: 10, test: 10 });
  const deps = {
    config: {
      publicBaseUrl: 'http://127.0.0.1',
      production: false,
      apiKeyPepper: PEPPER,
      formerPeppers: [],
      calls: {},
    },
    database,
    sockets: new WebSocketServer({ noServer: true }),
    slots: {
      ...slots,
      acquire(socket: Parameters<typeof slots.acquire>[0]) {
        counts.slots += 1;
        return slots.acquire(socket);
      },
    },
    markVerified: () => void (counts.verified += 1),
    isClosing: () => isClosing,
    async admitCall() {
      onAdmit();
      return { admitted: true };
    },
    logger: createLogger({ role: 'test', level: 'silent' }),
  };
  sockets = createBrowserSockets(deps as unknown as BrowserSocketDeps);
  server = createServer();
  server.on('upgrade', (request, socket, head) => sockets.upgrade(request, socket, head, request.url!.slice(1)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
beforeEach(() => (counts = { slots: 0, verified: 0 }));
afterAll(async () => {
  await sockets.close();
  server.closeAllConnections();
  server.close();
  await database.close();
});

const newCallId = () => `call_${encodeCrockford(randomBytes(16))}`;

/** Opens a socket with a genuine token of the call. */
async function open(callId: string, token: string) {
  const { port } = server.address() as AddressInfo;
  return openBrowserLine({ url: `ws://127.0.0.1:${port}/${callId}`, token });
}

describe('the admission of a browser’s socket', () => {
  it('takes no slot for a token that was rejected, and leaves its sender unverified', async () => {
    const callId = newCallId();
    const token = createLegTokens({ apiKeyPepper: PEPPER, formerPeppers: [] }).issue(callId);
    for (let n = 0; n < 3; n++) {
      expect(await (await open(callId, token)).closed()).toEqual({ reason: 'rejected', code: 1008 });
    }
    expect(counts).toEqual({ slots: 1, verified: 0 });
  });

  it('lets the browser reconnect if the server begins to shut down meanwhile', async () => {
    const callId = newCallId();
    const token = createLegTokens({ apiKeyPepper: PEPPER, formerPeppers: [] }).issue(callId);
    const legs = createWebLegs(database);
    await legs.create({ callId, accountId: 'acc_1', mode: 'live', tokenHash: hashOfToken(token), tokenMs: 60_000 });
    onAdmit = () => (isClosing = true);
    expect(await (await open(callId, token)).closed()).toEqual({ reason: 'reconnect', code: 1013 });
    const leg = await legs.find(legIdOf(callId));
    expect(leg).toMatchObject({ tokenHash: hashOfToken(token), streamNumber: 0 });
    expect(leg?.startedAt).toBeUndefined();
  });
});
