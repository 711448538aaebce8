import type { EngineUsage } from './port.js';

/** Price per unit in micro-USD, by unit name: 32 USD per million tokens is 32. */
export type EnginePrices = Readonly<Record<string, number>>;

export interface UsageMeter {
  /** Adds to a unit's count, such as `realtime_input_audio_tokens`; ignores values that are not positive numbers. */
  add(unit: string, count: number | undefined): void;
  /** Raises a unit's count to a total, such as the seconds of a call that continues. */
  raise(unit: string, total: number): void;
  total(): EngineUsage;
}

/** Prices per unit in micro-USD, assumed where the operator has set none. */
const ASSUMED_PRICES: EnginePrices = {
  realtime_input_text_tokens: 4,
  realtime_input_audio_tokens: 32,
  realtime_cached_text_tokens: 0.4,
  realtime_cached_audio_tokens: 0.4,
  realtime_output_text_tokens: 24,
  realtime_output_audio_tokens: 64,
  transcription_input_tokens: 1.25,
  transcription_output_tokens: 5,
  transcription_seconds: 100,
  recogniser_seconds: 130,
  chat_input_tokens: 0.4,
  chat_cached_input_tokens: 0.1,
  chat_output_tokens: 1.6,
  voice_characters: 60,
};

/** The configured or assumed price of a unit. Units of alternatives, such as `chat_input_tokens_2`, end in a number. */
function priceOf(unit: string, prices: EnginePrices): number {
  return prices[unit] ?? ASSUMED_PRICES[unit.replace(/_\d$/, '')] ?? 0;
}

/** The cost of a usage in micro-USD; an estimate if a used unit has no configured price. */
export function estimateCostMicros({ units, costMicros, estimatedMicros }: EngineUsage): number {
  return costMicros ?? estimatedMicros ?? costAt({}, units);
}

/** The cost of units in micro-USD at the configured prices, or at the assumed price of a unit that has none. */
export function costAt(prices: EnginePrices, units: Readonly<Record<string, number>>): number {
  return Object.entries(units).reduce((sum, [unit, count]) => sum + count * priceOf(unit, prices), 0);
}

/** The usage of two engines that conducted one call. If the price of one part is unknown, so is the sum. */
export function sumUsage(one: EngineUsage | undefined, other: EngineUsage | undefined): EngineUsage | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const units = { ...one.units };
  for (const [unit, count] of Object.entries(other.units)) units[unit] = (units[unit] ?? 0) + count;
  if (one.costMicros !== null && other.costMicros !== null)
    return { units, costMicros: one.costMicros + other.costMicros };
  return { units, costMicros: null, estimatedMicros: estimateCostMicros(one) + estimateCostMicros(other) };
}

/** Sums up the provider usage of one call. The cost is known only if every used unit has a price. */
export function createUsageMeter(prices: EnginePrices): UsageMeter {
  const units = new Map<string, number>();

  function add(unit: string, count: number | undefined): void {
    if (count === undefined || !Number.isFinite(count) || count <= 0) return;
    units.set(unit, (units.get(unit) ?? 0) + count);
  }

  return {
    add,
    raise: (unit, total) => add(unit, total - (units.get(unit) ?? 0)),
    total() {
      const used = Object.fromEntries(units);
      const isPriced = Object.keys(prices).length > 0 && Object.keys(used).every((unit) => Object.hasOwn(prices, unit));
      const micros = Math.round(costAt(prices, used));
      return isPriced
        ? { units: used, costMicros: micros }
        : { units: used, costMicros: null, estimatedMicros: micros };
    },
  };
}
