import { randomUUID } from 'node:crypto';
import { openConnection } from '../../../src/platform/mongo/connection.js';
import { newCallId } from '../../support/store/test-database.js';
import { startInbox, startReceiver } from '../stack/http.js';
import { startProgram, type NodeOptions, type NodeProcess } from '../stack/node-process.js';
import type { BenchServers } from '../stack/servers.js';
import type { BareRequest, BareResponse } from './bare-client.js';
import { bareEnvironment } from './settings.js';

export type BareService = Awaited<ReturnType<typeof startBareService>>;

/**
 * A carrier's report arrives when the activity that dialed is over, as in the service. If it came earlier, both would share a
 * workflow task, and the baseline would have three events less than BARE_EVENTS.
 */
const OVER_AFTER_MS = 100;

/**
 * Starts the bare baseline: a client and a worker as separate processes, with a carrier that reports the end of each call
 * soon after the dial, like the busy callee of the simulated carrier.
 * @param options.overAfterMs how long after the dial the carrier reports the end; `never`: calls stay open
 */
export async function startBareService(
  servers: BenchServers,
  options: NodeOptions & { overAfterMs?: number | 'never'; maxCachedWorkflows?: number } = {},
) {
  const { overAfterMs = OVER_AFTER_MS, maxCachedWorkflows = 1_000 } = options;
  const id = randomUUID();
  const inbox = await startInbox();
  const carrier = await startReceiver((body) => {
    const { call_id: callId } = JSON.parse(body) as { call_id: string };
    if (overAfterMs !== 'never') setTimeout(() => void ask('over', callId).catch(fail), overAfterMs);
    return { sid: callId };
  });
  const env = bareEnvironment({
    mongodbUri: servers.mongodbUri(`bare_${id}`, { monitored: options.commandsFile !== undefined }),
    temporalAddress: servers.temporalAddress,
    taskQueue: servers.newTaskQueue(),
    carrierUrl: carrier.url,
    inboxUrl: inbox.url,
    maxCachedWorkflows,
    staysOpen: overAfterMs === 'never',
  });
  const { connection: database } = await openConnection(servers.mongodbUri(`bare_${id}`));
  await database.collection<{ _id: string; heldMicros: number }>('accounts').insertOne({ _id: 'acct', heldMicros: 0 });
  const roles: Record<'client' | 'worker', NodeProcess> = {
    client: await startProgram(servers, 'bare/bare-client.ts', env, options),
    worker: await startProgram(servers, 'bare/bare-worker.ts', env, options),
  };
  const ask = createAsker(roles.client);

  return {
    inbox,
    roles,

    /** Starts a call. Resolves when a client would have its response. */
    async place(): Promise<string> {
      const callId = newCallId();
      await ask('start', callId);
      return callId;
    },

    /** Reports the end of a call that stays open. */
    over: (callId: string): Promise<void> => ask('over', callId),

    async stop(): Promise<void> {
      for (const role of Object.values(roles)) await role.stop(8_000);
      await carrier.close();
      await inbox.close();
      await database.dropDatabase();
      await database.close();
    },
  };
}

/** Sends requests to the client process and waits for its responses. */
function createAsker(client: NodeProcess) {
  const waiting = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  let last = 0;
  client.onMessage((message) => {
    const { id, error } = message as BareResponse;
    const request = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) request?.resolve();
    else request?.reject(new Error(`bare client: ${error}`));
  });
  return (act: BareRequest['act'], callId: string) =>
    new Promise<void>((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      client.send({ id: last, act, callId } satisfies BareRequest);
    });
}

/** Reports an error of the baseline. The call whose end was not reported then fails the row by its timeout. */
function fail(error: unknown): void {
  process.stderr.write(`bench: ${String(error)}\n`);
}
