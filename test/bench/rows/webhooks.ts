import { bareEnvironment } from '../bare/settings.js';
import { figureOf } from '../report/figure.js';
import type { DeliveryFigures, DeliveryOrder } from '../stack/deliveries.js';
import { startProgram, type NodeProcess } from '../stack/node-process.js';
import { startBenchService, type BenchService } from '../stack/service.js';
import { newCallId } from '../../support/store/test-database.js';
import type { Row } from './row.js';

const DELIVERIES = 150;
const WARM_UP = 50;
/** As many as one endpoint may get at once. */
const AT_ONCE = 8;
const WITHIN_MS = 120_000;

export const webhooks: Row = {
  name: 'webhooks',
  about: 'webhooks delivered per second, compared with bare posts with a row before and an outcome after',
  async run({ servers, rounds, say }) {
    const service = await startBenchService(servers);
    const bareEnv = bareEnvironment({
      mongodbUri: service.config.mongodbUri,
      temporalAddress: '',
      taskQueue: '',
      carrierUrl: '',
      inboxUrl: service.inbox.url,
      maxCachedWorkflows: 0,
    });
    const processes: Partial<Record<'bare' | 'ours', NodeProcess>> = {};
    const rates: Record<'bare' | 'ours', number[]> = { bare: [], ours: [] };
    const cpu: Record<'bare' | 'ours', number[]> = { bare: [], ours: [] };
    try {
      const callId = await service.firstCall();
      processes.bare = await startProgram(servers, 'bare/bare-posts.ts', bareEnv);
      processes.ours = await startProgram(servers, 'stack/webhook-sender.ts', service.env);
      for (const sender of Object.values(processes)) await deliver(sender, await copyCall(service, callId, WARM_UP));
      for (let round = 0; round < rounds; round += 1) {
        say(`webhooks: round ${round + 1}`);
        for (const name of ['bare', 'ours'] as const) {
          const callIds = await copyCall(service, callId, DELIVERIES);
          const { elapsedMs = Number.NaN, cpuMs = Number.NaN } = await deliver(processes[name] as NodeProcess, callIds);
          rates[name].push((DELIVERIES * 1_000) / elapsedMs);
          cpu[name].push(cpuMs / DELIVERIES);
        }
      }
    } finally {
      for (const sender of Object.values(processes)) await sender.stop();
      await service.stop();
    }
    return {
      figures: [
        figureOf({ name: 'webhook deliveries', unit: 'deliveries/s', ...rates }),
        figureOf({ name: 'CPU per webhook delivery', unit: 'ms', ...cpu }),
      ],
    };
  },
};

/** Copies an ended call, so that there are calls whose webhooks were not sent. Returns the ids of the copies. */
async function copyCall({ database }: BenchService, callId: string, copies: number): Promise<string[]> {
  const callIds = Array.from({ length: copies }, newCallId);
  for (const { collection } of [database.calls, database.callRequests]) {
    const original = await collection.findOne({ _id: callId as never });
    await collection.insertMany(callIds.map((id) => ({ ...original, _id: id as never })));
  }
  return callIds;
}

async function deliver(sender: NodeProcess, callIds: string[]): Promise<DeliveryFigures> {
  const figures = await new Promise<DeliveryFigures>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('webhooks were not delivered in time')), WITHIN_MS);
    const forget = sender.onMessage((message) => {
      clearTimeout(timer);
      forget();
      resolve(message as DeliveryFigures);
    });
    sender.send({ callIds, atOnce: AT_ONCE } satisfies DeliveryOrder);
  });
  if (figures.error !== undefined) throw new Error(figures.error);
  return figures;
}
