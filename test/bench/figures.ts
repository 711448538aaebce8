/** Returns the value below which the given percentage of the samples lies. */
export function percentile(samples: readonly number[], percent: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((percent / 100) * sorted.length))] ?? Number.NaN;
}

/** Prints the figures of one benchmark under their title. */
export function report(title: string, figures: Record<string, number>): void {
  const lines = Object.entries(figures).map(([name, value]) => `  ${name}: ${Math.round(value * 100) / 100}`);
  process.stderr.write(`\nbench: ${title}\n${lines.join('\n')}\n`);
}
