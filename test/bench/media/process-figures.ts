/** What a measured process tells of itself. */
export interface ProcessFigures {
  /** Processor time since the last question, ms. */
  cpuMs: number;
  /** Real time since the last question, ms. */
  elapsedMs: number;
  rssBytes: number;
  /** How long each frame took from the carriers to whoever hears it, since the last question, ms. */
  heardMs: number[];
}

/** Answers each `figures` on the channel to the parent, and ends with it. */
export function serveFigures(heardMs: number[] = []): void {
  let cpu = process.cpuUsage();
  let at = performance.now();
  process.on('message', (message) => {
    if (message !== 'figures') return;
    globalThis.gc?.();
    const used = process.cpuUsage(cpu);
    const now = performance.now();
    process.send?.({
      cpuMs: (used.user + used.system) / 1_000,
      elapsedMs: now - at,
      rssBytes: process.memoryUsage.rss(),
      heardMs: heardMs.splice(0),
    } satisfies ProcessFigures);
    cpu = process.cpuUsage();
    at = performance.now();
  });
  process.on('disconnect', () => process.exit());
}
