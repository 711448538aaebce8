import { startProgram } from '../../stack/node-process.js';
import type { BenchServers } from '../../stack/servers.js';
import {
  stubEnvironment,
  type Course,
  type SentCallback,
  type StubDelivery,
  type StubMessage,
  type StubOrder,
  type StubSettings,
} from './protocol.js';

export type CarrierStub = Awaited<ReturnType<typeof startCarrierStub>>;

type Act = StubOrder extends infer Order ? (Order extends StubOrder ? Omit<Order, 'id'> : never) : never;

/** Starts the carrier stub as a process, and keeps what it reports. */
export async function startCarrierStub(servers: BenchServers, settings: StubSettings) {
  const stub = await startProgram(servers, 'scale/carrier/carrier-process.ts', stubEnvironment(settings));
  const waiting = new Map<number, { resolve: (sent: SentCallback[]) => void; reject: (error: Error) => void }>();
  const listeners = new Set<(delivery: StubDelivery) => void>();
  const failures: string[] = [];
  let last = 0;
  stub.onMessage((raw) => {
    const message = raw as StubMessage;
    if ('failed' in message) failures.push(message.failed);
    else if ('webhookOf' in message) for (const listener of listeners) listener(message);
    else {
      const order = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.error === undefined) order?.resolve(message.sent ?? []);
      else order?.reject(new Error(`carrier stub: ${message.error}`));
    }
  });
  const ask = (order: Act) =>
    new Promise<SentCallback[]>((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      stub.send({ id: last, ...order } satisfies StubOrder);
    });
  const url = `http://127.0.0.1:${settings.port}`;
  return {
    pid: stub.pid,
    url,
    inboxUrl: `${url}/inbox`,
    /** Callbacks and signals that were not accepted, as texts. */
    failures,
    /** Says how the calls that are dialed from now on go. */
    follow: async (course: Course) => void (await ask({ act: 'follow', course })),
    /** Resolves when all these calls have been dialed. */
    dialed: async (callIds: readonly string[]) => void (await ask({ act: 'expect', callIds })),
    /** Reports that the callees answer, one after the other. */
    answer: (callIds: readonly string[]) => ask({ act: 'answer', callIds }),
    /** Reports that the calls end, one after the other. */
    end: (callIds: readonly string[]) => ask({ act: 'end', callIds }),
    /** @returns a function that stops listening */
    onDelivery(listener: (delivery: StubDelivery) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop: () => stub.stop(3_000),
  };
}
