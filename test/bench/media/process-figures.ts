import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';

/** What a measured process tells of itself. */
export interface ProcessFigures {
  /** Processor time since the last question, ms. */
  cpuMs: number;
  /** Real time since the last question, ms. */
  elapsedMs: number;
  rssBytes: number;
  /** How long each frame took from the carriers to whoever hears it, since the last question, ms. */
  heardMs: number[];
  /** How late its event loop was at p99, ms: all that holds it up. */
  loopLateMs: number;
  /** The longest collection of garbage, ms. */
  longestGcMs: number;
  /** How often the machine took the core away from it for somebody else. */
  preempted: number;
}

/** Answers each `figures` and `from now on` on the channel to the parent, and ends with it. */
export function serveFigures(heardMs: number[] = []): void {
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  let longestGcMs = 0;
  const collections = new PerformanceObserver((list) => {
    for (const { duration, detail } of list.getEntries() as unknown as {
      duration: number;
      detail: { flags: number };
    }[]) {
      // Those that the questions below force are not part of what is measured.
      const isForced = (detail.flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) !== 0;
      if (!isForced) longestGcMs = Math.max(longestGcMs, duration);
    }
  });
  collections.observe({ entryTypes: ['gc'] });
  let switches = process.resourceUsage().involuntaryContextSwitches;
  let cpu = process.cpuUsage();
  let at = performance.now();
  process.on('message', (message) => {
    if (message !== 'figures' && message !== 'from now on') return;
    // Only for figures that are used: after a forced one garbage is collected more often than it would be by itself.
    if (message === 'figures') globalThis.gc?.();
    const used = process.cpuUsage(cpu);
    const now = performance.now();
    process.send?.({
      cpuMs: (used.user + used.system) / 1_000,
      elapsedMs: now - at,
      rssBytes: process.memoryUsage.rss(),
      heardMs: heardMs.splice(0),
      loopLateMs: loop.percentile(99) / 1e6,
      longestGcMs,
      preempted: process.resourceUsage().involuntaryContextSwitches - switches,
    } satisfies ProcessFigures);
    loop.reset();
    longestGcMs = 0;
    switches = process.resourceUsage().involuntaryContextSwitches;
    cpu = process.cpuUsage();
    at = performance.now();
  });
  process.on('disconnect', () => process.exit());
}
