import { unavailable } from './deadline.js';

export type BodiesInFlight = ReturnType<typeof createBodiesInFlight>;

/**
 * Bounds the bodies that are read before their signature can be checked: at most `total` in this process, and at most
 * `perAddress` of one client, so that one client alone cannot keep out the others.
 */
export function createBodiesInFlight({ perAddress, total }: { perAddress: number; total: number }) {
  const byAddress = new Map<string, number>();
  let all = 0;

  return {
    /** @throws ServiceError SERVICE_UNAVAILABLE when too many are in flight, so that the sender tries again */
    async read<T>(address: string, read: () => Promise<T>): Promise<T> {
      const own = byAddress.get(address) ?? 0;
      if (all >= total || own >= perAddress) throw unavailable();
      all += 1;
      byAddress.set(address, own + 1);
      try {
        return await read();
      } finally {
        all -= 1;
        const left = (byAddress.get(address) ?? 1) - 1;
        if (left > 0) byAddress.set(address, left);
        else byAddress.delete(address);
      }
    },
  };
}
