/** The value, or the nearest end of the range that the provider accepts. */
export function clamp(value: number, [min, max]: readonly [min: number, max: number]): number {
  return Math.min(max, Math.max(min, value));
}
