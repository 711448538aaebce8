/** A request to deliver the webhooks of calls. */
export interface DeliveryOrder {
  callIds: string[];
  atOnce: number;
}

/** The response, when all are delivered. */
export interface DeliveryFigures {
  elapsedMs?: number;
  cpuMs?: number;
  error?: string;
}

/** Delivers webhooks when the parent process asks for it, several at once, and reports the time that this took. */
export function serveDeliveries(deliver: (callId: string) => Promise<void>): void {
  async function run({ callIds, atOnce }: DeliveryOrder): Promise<DeliveryFigures> {
    const left = [...callIds];
    const began = performance.now();
    const cpu = process.cpuUsage();
    const lane = async () => {
      for (let callId = left.pop(); callId !== undefined; callId = left.pop()) await deliver(callId);
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
    const { user, system } = process.cpuUsage(cpu);
    return { elapsedMs: performance.now() - began, cpuMs: (user + system) / 1_000 };
  }
  process.on('message', (order: DeliveryOrder) => {
    run(order).then(
      (figures) => process.send?.(figures),
      (error: unknown) => process.send?.({ error: String(error) } satisfies DeliveryFigures),
    );
  });
  process.once('SIGTERM', () => process.exit());
  process.once('disconnect', () => process.exit());
  process.send?.('ready');
}
