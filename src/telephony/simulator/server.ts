import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { loadVoiceActivity, type VoiceActivityDetector } from '../../voice/audio/voice-activity.js';
import { isLoopbackHost } from '../../platform/config/addresses.js';
import { readBodyUpTo } from '../../platform/http/server/body-bytes.js';
import { createHttpServer } from '../../platform/http/server/http-server.js';
import { isFromWebPage } from '../../platform/http/web-pages.js';
import type { Config } from '../../platform/config/config.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { createControlApi } from './rest/control-api.js';
import { createCredentials } from './rest/credentials.js';
import { createExchange } from './exchange.js';
import { createFaults } from './faults.js';
import { createRestApi } from './rest/rest-api.js';
import { loadScenarios } from './scenario.js';
import { createPacedTurns } from './paced-turns.js';
import { createLineRecordings, MAX_RECORDED_BYTES } from './media/line-recordings.js';
import { createTicker } from './media/ticker.js';
import { createVoices } from './voices.js';
import { createCustomerClient } from './webhook-client.js';

const MAX_BODY_BYTES = 65_536;
/**
 * The ends of test calls are reported at this interval at least, in ms. Test calls are free, and customers choose when they
 * end; the end of a call takes several steps of a worker, so hundreds in one second would delay live calls.
 */
const TEST_END_EVERY_MS = 125;

export interface Simulator {
  /** @returns the port, which the operating system chooses when the configured one is 0 */
  listen(): Promise<{ port: number }>;
  /** Ends all calls without callbacks, and closes every connection. */
  close(): Promise<void>;
}

/**
 * Creates the simulated carrier: Twilio's REST API, callbacks and media streams, with scripted remote parties. In this
 * folder, "customer" means the carrier's customer, which is the service under test.
 */
export function createSimulator(deps: { config: Config; logger: Logger }): Simulator {
  const { config, logger } = deps;
  const { timeScale, isControllable } = config.simulator;
  const scenarios = loadScenarios();
  const voices = createVoices({ logger });
  const webhooks = createCustomerClient();
  const testEnds = createPacedTurns();
  const { test } = config.carriers;
  let newDetector: (() => VoiceActivityDetector) | undefined;
  const exchange = createExchange({
    logger,
    voices,
    ticker: createTicker(),
    // Only the control API reads recordings.
    recordings: createLineRecordings(isControllable ? MAX_RECORDED_BYTES : 0),
    webhooks,
    endTurn: async ({ carrierAccountId }) => {
      if (carrierAccountId !== test.carrierAccountId) return;
      await wait(testEnds.take(TEST_END_EVERY_MS * timeScale), undefined, { ref: false });
    },
    timeScale,
    findScenario: (number) => scenarios.findByNumber(number),
    newDetector() {
      if (newDetector === undefined) throw new Error('the simulated carrier has not started listening yet');
      return newDetector();
    },
  });
  const faults = createFaults(scenarios);
  const { live, further } = config.carriers;
  const accounts = [live, ...further, test].filter(({ kind }) => kind === 'simulator');
  const credentials = createCredentials(accounts);
  const rest = createRestApi({ accounts, credentials, exchange, faults, timeScale });
  const { publicBaseUrl } = config;
  const control = createControlApi({
    accounts: config.carriers,
    credentials,
    publicBaseUrl,
    exchange,
    faults,
    scenarios,
  });

  // The timeout of idle connections is longer than that of the clients, so that no request arrives on a connection that
  // is being closed.
  const server = createHttpServer({ keepAliveTimeout: 65_000, maxHeaderSize: 16_384 }, (request, response) => {
    serve(request, response).catch((error: unknown) => {
      logger.error({ err: error }, 'simulated carrier request failed');
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The simulator's auth tokens are public, so reject requests that web pages send from a developer's browser.
    if (isFromWebPage(request.headers)) {
      response.writeHead(403, { connection: 'close' }).end();
      return;
    }
    const body = (await readBodyUpTo(MAX_BODY_BYTES, request))?.toString();
    if (body === undefined) {
      response.writeHead(413, { connection: 'close' }).end();
      return;
    }
    const method = request.method ?? 'GET';
    const url = parseUrl(request);
    if (url.pathname === '/health/live' || url.pathname === '/health/ready') {
      // The simulated carrier needs no other server.
      const status = url.pathname === '/health/live' ? 'live' : 'ready';
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ status }));
      return;
    }
    if (isControllable && url.pathname.startsWith('/simulator')) {
      // Check the Host header, too, because a website's domain may point to this machine.
      if (!isLoopback(request.socket.remoteAddress) || !isLoopbackHost(request.headers.host ?? '')) {
        response.writeHead(403).end();
        return;
      }
      const answer = control.handle({ method, url, contentType: request.headers['content-type'] ?? '', body });
      response.writeHead(answer.status, { 'content-type': answer.contentType }).end(answer.body);
      return;
    }
    const answer = await rest.handle({ method, url, authorization: request.headers.authorization, body });
    if (answer === 'drop') {
      request.socket.destroy();
      return;
    }
    const challenge = answer.status === 401 ? { 'www-authenticate': 'Basic realm="Twilio API"' } : {};
    response.writeHead(answer.status, { 'content-type': 'application/json', ...challenge }).end(answer.body);
  }

  return {
    async listen() {
      newDetector = await loadVoiceActivity();
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(config.simulator.port, config.simulator.host, resolve);
      });
      voices.synthesizeAhead(scenarios.all().map(({ remoteParty }) => remoteParty));
      return { port: (server.address() as AddressInfo).port };
    },
    async close() {
      exchange.close();
      server.closeAllConnections();
      await Promise.all([new Promise((resolve) => server.close(resolve)), webhooks.close(), voices.close()]);
    },
  };
}

/** Parses path and query of the request. The Host header is checked separately. */
function parseUrl(request: IncomingMessage): URL {
  try {
    return new URL(request.url ?? '/', 'http://carrier');
  } catch {
    return new URL('http://carrier/');
  }
}

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(::ffff:)?127\.|^::1$/.test(address);
}
