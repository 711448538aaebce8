import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createCarriers } from '../../../../src/telephony/carriers.js';
import { createSimulator } from '../../../../src/telephony/simulator/server.js';
import { parseConfig } from '../../../../src/platform/config/config.js';
import { createLogger } from '../../../../src/platform/telemetry/logger.js';
import { startCustomer, type Customer } from './customer.js';

/** The fields of the response of `GET /simulator/calls/{sid}` that the tests read. */
export interface SimulatedCall {
  sid: string;
  status: string;
  direction: string;
  duration_seconds: number | null;
  sip_code: number | null;
  time_limit_seconds: number | null;
  errors: { code: number }[];
  requests: { purpose: string; url: string; status?: number }[];
  callbacks: { params: Record<string, string>; attempt: number; status?: number; error?: string }[];
  streams: {
    framesSent: number;
    framesLost: number;
    framesOmitted: number;
    mediaReceived: number;
    clears: number;
    end?: string;
    marks: { name: string }[];
  }[];
  twiml: string[];
  answered_by: string | null;
  dials: { to: string; status: string; seconds: number }[];
  script: { at: string; did: string; text?: string }[];
}

export type Bench = Awaited<ReturnType<typeof startBench>>;

/**
 * Starts a simulated carrier and a customer of this carrier. Creates the adapter by which the service uses the carrier.
 */
export async function startBench(settings: Record<string, string> = {}) {
  const port = await freePort();
  const authToken = '22222222222222222222222222222222';
  const customer: Customer = await startCustomer(authToken);
  const config = parseConfig({
    PUBLIC_BASE_URL: customer.baseUrl,
    SIMULATOR_PORT: String(port),
    SIMULATOR_URL: `http://127.0.0.1:${port}`,
    SIMULATOR_TEST_AUTH_TOKEN: authToken,
    SIMULATOR_AUTH_TOKEN: authToken,
    LOG_LEVEL: 'silent',
    ...settings,
  });
  const simulator = createSimulator({ config, logger: createLogger({ role: 'simulator', level: config.logLevel }) });
  await simulator.listen();
  const url = `http://127.0.0.1:${port}`;
  const control = async (path: string, body?: unknown) => {
    const response = await fetch(`${url}/simulator${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    return { status: response.status, body: await response.json() };
  };
  const getCall = async (sid: string) => (await control(`/calls/${sid}`)).body as SimulatedCall;
  return {
    config,
    customer,
    url,
    carrier: createCarriers({ config }).test,
    control,
    getCall,
    all: async () => ((await control('/calls')).body as { calls: SimulatedCall[] }).calls,
    /** Waits until a call has ended and its callbacks have been sent. */
    async waitForEnd(sid: string, withinMs = 40_000): Promise<SimulatedCall> {
      await until(async () => (await getCall(sid)).duration_seconds !== null, withinMs);
      return getCall(sid);
    },
    async close() {
      await simulator.close();
      await customer.close();
    },
  };
}

/** @throws Error if the condition does not become true in time */
export async function until(condition: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`this did not happen within ${withinMs} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
