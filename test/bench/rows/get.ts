import { setTimeout as sleep } from 'node:timers/promises';
import { startProgram } from '../stack/node-process.js';
import { bareEnvironment } from '../bare/settings.js';
import { figureOf } from '../report/figure.js';
import { createHttpClient } from '../stack/http.js';
import { startBenchService } from '../stack/service.js';
import type { Row } from './row.js';

const CONNECTIONS = 16;
const WARM_UP_MS = 2_000;
const MEASURED_MS = 4_000;
/** Lets the rate limit of a slow machine's earlier rounds pass into the next window. */
const PAUSE_MS = 200;

export const get: Row = {
  name: 'get',
  about: 'GET status of a call, requests per second, compared with a bare route with one read',
  async run({ servers, rounds, say }) {
    const service = await startBenchService(servers);
    const env = bareEnvironment({
      mongodbUri: service.config.mongodbUri,
      temporalAddress: '',
      taskQueue: '',
      carrierUrl: '',
      inboxUrl: '',
      maxCachedWorkflows: 0,
    });
    const bare = await startProgram(servers, 'bare/bare-route.ts', env);
    const client = createHttpClient(`http://127.0.0.1:${(bare.first as { port: number }).port}`, CONNECTIONS);
    const rates: Record<'bare' | 'ours', number[]> = { bare: [], ours: [] };
    try {
      const callId = await service.firstCall();
      const path = `/outbound_call?call_id=${callId}`;
      const sides = {
        bare: async () => {
          const { status } = await client.request('GET', path);
          if (status !== 200) throw new Error(`bare GET: ${status}`);
        },
        ours: () => service.request('GET', path),
      };
      for (const name of ['bare', 'ours'] as const) await requestsPerSecond(sides[name], WARM_UP_MS);
      for (let round = 0; round < rounds; round += 1) {
        say(`get: round ${round + 1}`);
        for (const name of ['bare', 'ours'] as const) {
          rates[name].push(await requestsPerSecond(sides[name], MEASURED_MS));
          await sleep(PAUSE_MS);
        }
      }
    } finally {
      await client.close();
      await bare.stop();
      await service.stop();
    }
    const limit = { of: 'ratio' as const, atLeast: 0.7 };
    return { figures: [figureOf({ name: 'GET status', unit: 'requests/s', ...rates, limit })] };
  },
};

/** Sends requests on all connections for a while. */
export async function requestsPerSecond(request: () => Promise<unknown>, forMs: number): Promise<number> {
  const began = performance.now();
  const done = await countRequests(request, forMs);
  return (done * 1_000) / (performance.now() - began);
}

/** Does the same, and returns how many requests there were. */
export async function countRequests(request: () => Promise<unknown>, forMs: number): Promise<number> {
  const began = performance.now();
  let done = 0;
  const connection = async () => {
    while (performance.now() - began < forMs) {
      await request();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  return done;
}
