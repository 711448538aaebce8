import { answer, ask } from '../../platform/launcher-link.js';
import type { ServiceRole } from '../roles.js';
import type { ServerProcess } from '../servers/server-process.js';

/** How long a media process may take to say whether it carries a call. */
const ANSWER_WITHIN_MS = 1_000;

export type Crashes = ReturnType<typeof createCrashes>;

/** Kills processes that take part in a call, for the demo and when the API asks for it, to show that the call continues. */
export function createCrashes() {
  const running = new Map<ServerProcess, { role: ServiceRole; name: string }>();
  const processesOf = (wanted: ServiceRole) => [...running].filter(([, { role }]) => role === wanted);

  async function carriersOf(callId: string) {
    const asked = processesOf('media').map(async ([server, { name }]) => ({
      server,
      name,
      carries: await ask(server, 'carries', callId, ANSWER_WITHIN_MS),
    }));
    return (await Promise.all(asked)).filter(({ carries }) => carries);
  }

  async function killCarrier(callId: string): Promise<boolean> {
    const carrying = await carriersOf(callId);
    for (const { server } of carrying) server.kill();
    return carrying.length > 0;
  }

  return {
    /** Call this with each process of a role that has started. @param name such as `media 1` */
    watch(role: ServiceRole, name: string, server: ServerProcess): void {
      if (role === 'api') answer(server, 'kill', killCarrier);
      running.set(server, { role, name });
      void server.exited.then(() => running.delete(server));
    },

    /** The name of the media process that carries a call; undefined if none does. */
    carrierOf: async (callId: string) => (await carriersOf(callId))[0]?.name,

    /** Kills the media process that carries a call. Returns false if none does. */
    killCarrier,

    /** Kills all workers. Returns false if none runs. */
    killWorkers(): boolean {
      const workers = processesOf('worker');
      for (const [server] of workers) server.kill();
      return workers.length > 0;
    },
  };
}
