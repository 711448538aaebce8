import type { EngineUsage } from './port.js';

/** Price per unit in micro-USD, by unit name: 32 USD per million tokens is 32. */
export type EnginePrices = Readonly<Record<string, number>>;

export interface UsageMeter {
  /** Adds to a unit's count, such as `realtime_input_audio_tokens`; ignores values that are not positive numbers. */
  add(unit: string, count: number | undefined): void;
  total(): EngineUsage;
}

/** Sums up the provider usage of one call. The cost is known only if every used unit has a price. */
export function createUsageMeter(prices: EnginePrices): UsageMeter {
  const units = new Map<string, number>();

  return {
    add(unit, count) {
      if (count === undefined || !Number.isFinite(count) || count <= 0) return;
      units.set(unit, (units.get(unit) ?? 0) + count);
    },
    total() {
      const used = [...units];
      const isPriced = Object.keys(prices).length > 0 && used.every(([unit]) => Object.hasOwn(prices, unit));
      const micros = used.reduce((sum, [unit, count]) => sum + count * (prices[unit] ?? 0), 0);
      return { units: Object.fromEntries(used), costMicros: isPriced ? Math.round(micros) : null };
    },
  };
}
