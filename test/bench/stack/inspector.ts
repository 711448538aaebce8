import { once } from 'node:events';
import { WebSocket } from 'ws';

/** One thread of a process, as the inspector sees it. */
interface Thread {
  /** `main`, or the number of a worker thread. */
  name: string;
  send<T>(method: string, params?: object): Promise<T>;
}

export interface CpuProfile {
  nodes: {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
    children?: number[];
  }[];
  samples: number[];
  /** The time between samples, µs. */
  timeDeltas: number[];
}

interface Message {
  id?: number;
  method?: string;
  params?: { sessionId: string; message: string };
  result?: unknown;
  error?: { message: string };
}

const SAMPLING_US = 500;
const ATTACH_WITHIN_MS = 500;
const RESPONSE_WITHIN_MS = 60_000;

/** Connects to the inspector of a process, and to those of its worker threads, in which workflows run. */
export async function openInspector(address: string | undefined) {
  if (address === undefined) throw new Error('the process was started without an inspector');
  const socket = new WebSocket(address, { perMessageDeflate: false });
  await once(socket, 'open');
  const main = createThread('main', (text) => socket.send(text));
  const workers = new Map<string, ReturnType<typeof createThread>>();
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as Message;
    const { method, params } = message;
    if (method === 'NodeWorker.attachedToWorker' && params !== undefined) {
      const { sessionId } = params;
      const send = (text: string) => void main.send('NodeWorker.sendMessageToWorker', { sessionId, message: text });
      workers.set(sessionId, createThread(sessionId, send));
    } else if (method === 'NodeWorker.detachedFromWorker' && params !== undefined) workers.delete(params.sessionId);
    else if (method === 'NodeWorker.receivedMessageFromWorker' && params !== undefined)
      workers.get(params.sessionId)?.receive(JSON.parse(params.message) as Message);
    else main.receive(message);
  });
  await main.send('NodeWorker.enable', { waitForDebuggerOnStart: false });
  await new Promise((resolve) => setTimeout(resolve, ATTACH_WITHIN_MS));
  const threads = (): Thread[] => [main, ...workers.values()];

  return {
    /** Takes a CPU profile of each thread while `act` runs. */
    async profile(act: () => Promise<unknown>): Promise<{ thread: string; profile: CpuProfile }[]> {
      const profiled = threads();
      for (const thread of profiled) {
        await thread.send('Profiler.enable');
        await thread.send('Profiler.setSamplingInterval', { interval: SAMPLING_US });
        await thread.send('Profiler.start');
      }
      await act();
      const profiles = [];
      for (const thread of profiled) {
        const { profile } = await thread.send<{ profile: CpuProfile }>('Profiler.stop');
        profiles.push({ thread: thread.name, profile });
      }
      return profiles;
    },

    /** Frees all memory that is not in use, in each thread. */
    async collectGarbage(): Promise<void> {
      for (const thread of threads()) await thread.send('HeapProfiler.collectGarbage');
    },

    async close(): Promise<void> {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}

function createThread(name: string, transmit: (text: string) => void) {
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  let last = 0;
  return {
    name,
    send<T>(method: string, params: object = {}): Promise<T> {
      last += 1;
      const id = last;
      return new Promise<T>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`inspector: no response to ${method}`)), RESPONSE_WITHIN_MS);
        const settle = () => {
          clearTimeout(timer);
          waiting.delete(id);
        };
        waiting.set(id, {
          resolve: (result) => (settle(), resolve(result as T)),
          reject: (error) => (settle(), reject(error)),
        });
        transmit(JSON.stringify({ id, method, params }));
      });
    },
    receive({ id, result, error }: Message): void {
      const request = id === undefined ? undefined : waiting.get(id);
      if (error === undefined) request?.resolve(result);
      else request?.reject(new Error(`inspector: ${error.message}`));
    },
  };
}
