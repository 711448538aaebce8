import type { Ports } from '../../../src/dev/processes/free-port.js';
import { startReceiver } from './http.js';

/** Watches the processes of a service, as in production. */
export interface Observer {
  /** Returns variables for the environment of a process. */
  environment(): Promise<Record<string, string>>;
  /** @throws Error if it has not seen what it watches */
  stop(): Promise<void>;
}

/** As often as in deploy/prometheus/prometheus.yml. A round of frames takes as long, so it has one read of each process. */
const READ_EVERY_MS = 15_000;

/** Reads the metrics of every process, as Prometheus does. */
export function observeMetrics(ports: Ports): Observer {
  const urls: string[] = [];
  const processes: string[] = [];
  const seen = new Set<string>();
  const read = async (url: string) => {
    const response = await fetch(url);
    if (/^(callwright|temporal)_/m.test(await response.text())) seen.add(url);
  };
  // A process that starts or ends does not respond.
  const reads = setInterval(() => void Promise.allSettled(urls.map(read)), READ_EVERY_MS);
  return {
    async environment() {
      const [port, sdkPort] = [await ports.take(), await ports.take()];
      const url = `http://127.0.0.1:${port}/metrics`;
      processes.push(url);
      // Only workers serve metrics of Temporal's SDK, too.
      urls.push(url, `http://127.0.0.1:${sdkPort}/metrics`);
      return { METRICS_PORT: String(port), WORKER_METRICS_ADDRESS: `127.0.0.1:${sdkPort}` };
    },
    async stop() {
      clearInterval(reads);
      const silent = processes.filter((url) => !seen.has(url)).length;
      if (silent > 0) throw new Error(`${silent} of ${processes.length} processes have served no metrics`);
      if (seen.size === processes.length) throw new Error("no worker has served the metrics of Temporal's SDK");
    },
  };
}

/** Sooner than by default, so that spans are sent before the next side is measured. */
const SENT_AFTER_MS = '200';

/** Receives the spans of every process and discards them. */
export async function observeTraces(): Promise<Observer> {
  let requests = 0;
  const collector = await startReceiver(() => {
    requests += 1;
    return 200;
  });
  return {
    environment: async () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: SENT_AFTER_MS }),
    async stop() {
      await collector.close();
      if (requests === 0) throw new Error('no process has sent a span');
    },
  };
}
