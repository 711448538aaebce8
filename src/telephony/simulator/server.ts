import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadVoiceActivity, type VoiceActivityDetector } from '../../voice/audio/voice-activity.js';
import { isLoopbackHost } from '../../platform/config/addresses.js';
import { isFromWebPage } from '../../platform/http/web-pages.js';
import type { Config } from '../../platform/config/config.js';
import type { Logger } from '../../platform/telemetry/logger.js';
import { createControlApi } from './rest/control-api.js';
import { createExchange } from './exchange.js';
import { createFaults } from './faults.js';
import { createRestApi } from './rest/rest-api.js';
import { loadScenarios } from './scenario.js';
import { createTicker } from './media/ticker.js';
import { createVoices } from './voices.js';
import { createCallbackClient } from './webhook-client.js';

const MAX_BODY_BYTES = 65_536;

export interface Simulator {
  /** @returns the port, which the operating system chooses when the configured one is 0 */
  listen(): Promise<{ port: number }>;
  /** Ends all calls without callbacks, and closes every connection. */
  close(): Promise<void>;
}

/**
 * The simulated carrier: Twilio's REST API, callbacks and media streams, with scripted remote parties. In this folder,
 * the customer is the carrier's customer: the service under test.
 */
export function createSimulator(deps: { config: Config; logger: Logger }): Simulator {
  const { config, logger } = deps;
  const { timeScale } = config.simulator;
  const scenarios = loadScenarios();
  const voices = createVoices({ logger });
  const webhooks = createCallbackClient();
  let newDetector: (() => VoiceActivityDetector) | undefined;
  const exchange = createExchange({
    logger,
    voices,
    ticker: createTicker(),
    webhooks,
    timeScale,
    scenarioOf: (number) => scenarios.ofNumber(number),
    newDetector() {
      if (newDetector === undefined) throw new Error('the simulated carrier does not listen yet');
      return newDetector();
    },
  });
  const faults = createFaults(scenarios);
  const accounts = [config.carriers.live, config.carriers.test].filter(({ kind }) => kind === 'simulator');
  const rest = createRestApi({ accounts, exchange, faults, timeScale });
  const { publicBaseUrl } = config;
  const control = createControlApi({ accounts: config.carriers, publicBaseUrl, exchange, faults, scenarios });

  // Longer than the clients' own idle timeout, so that a request never arrives on a connection that is being closed.
  const server = createServer({ keepAliveTimeout: 65_000, maxHeaderSize: 16_384 }, (request, response) => {
    serve(request, response).catch((error: unknown) => {
      logger.error({ err: error }, 'the simulated carrier could not answer a request');
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The simulator's auth tokens are public, so block requests from web pages in a developer's browser.
    if (isFromWebPage(request.headers)) {
      response.writeHead(403, { connection: 'close' }).end();
      return;
    }
    const body = await readBody(request);
    if (body === undefined) {
      response.writeHead(413, { connection: 'close' }).end();
      return;
    }
    const method = request.method ?? 'GET';
    const url = urlOf(request);
    if (url.pathname.startsWith('/simulator')) {
      // Check the Host header too: a web site may have pointed its own domain at this machine.
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
      voices.prepare(scenarios.all().map(({ farEnd }) => farEnd));
      return { port: (server.address() as AddressInfo).port };
    },
    async close() {
      exchange.close();
      server.closeAllConnections();
      await Promise.all([new Promise((resolve) => server.close(resolve)), webhooks.close(), voices.close()]);
    },
  };
}

/** Reads the body as text; undefined when it is too large. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Only path and query are used; the Host header is checked separately. */
function urlOf(request: IncomingMessage): URL {
  try {
    return new URL(request.url ?? '/', 'http://carrier');
  } catch {
    return new URL('http://carrier/');
  }
}

function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(::ffff:)?127\.|^::1$/.test(address);
}
