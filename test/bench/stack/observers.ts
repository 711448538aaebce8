import type { Ports } from '../../../src/dev/processes/free-port.js';
import { startReceiver } from './http.js';

/** Watches the processes of a service, as in production. */
export interface Observer {
  /** Returns variables for the environment of a process. */
  environment(): Promise<Record<string, string>>;
  /** @throws Error if it has seen nothing */
  stop(): Promise<void>;
}

/** Prometheus reads a process every 15 s by default; three times as often, each round has some reads. */
const READ_EVERY_MS = 5_000;

/** Reads the metrics of every process, as Prometheus does. */
export function observeMetrics(ports: Ports): Observer {
  const urls: string[] = [];
  let samples = 0;
  const read = async (url: string) => {
    const response = await fetch(url);
    if ((await response.text()).includes('callwright_')) samples += 1;
  };
  // A process that starts or ends does not respond.
  const reads = setInterval(() => void Promise.allSettled(urls.map(read)), READ_EVERY_MS);
  return {
    async environment() {
      const [port, sdkPort] = [await ports.take(), await ports.take()];
      // Only workers serve metrics of Temporal's SDK, too.
      urls.push(`http://127.0.0.1:${port}/metrics`, `http://127.0.0.1:${sdkPort}/metrics`);
      return { METRICS_PORT: String(port), WORKER_METRICS_ADDRESS: `127.0.0.1:${sdkPort}` };
    },
    async stop() {
      clearInterval(reads);
      if (samples === 0) throw new Error('no process has served a metric');
    },
  };
}

/** Receives the spans of every process and discards them. */
export async function observeTraces(): Promise<Observer> {
  let requests = 0;
  const collector = await startReceiver(() => {
    requests += 1;
    return 200;
  });
  return {
    environment: async () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }),
    async stop() {
      await collector.close();
      if (requests === 0) throw new Error('no process has sent a span');
    },
  };
}
