import { constants, monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';

/** Figures that a measured process reports about itself. */
export interface ProcessFigures {
  /** CPU time since the last `figures` message, ms. */
  cpuMs: number;
  /** Real time since the last `figures` message, ms. */
  elapsedMs: number;
  rssBytes: number;
  /** How long each frame took from the carrier to the engine, in ms, since the last `figures` message. */
  heardMs: number[];
  /** Lateness of the event loop at the 99th percentile, from any cause, ms. */
  loopLateMs: number;
  /** The longest garbage collection, ms. */
  longestGcMs: number;
  /** How often the operating system gave the core to another process. */
  preempted: number;
}

/** Responds to the messages `figures` and `from now on` of the parent process. Exits when the parent process exits. */
export function serveFigures(heardMs: number[] = []): void {
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  let longestGcMs = 0;
  const collections = new PerformanceObserver((list) => {
    for (const { duration, detail } of list.getEntries() as unknown as {
      duration: number;
      detail: { flags: number };
    }[]) {
      // Ignores the garbage collections that this file forces below.
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
    // Forces a collection only if the figures are used, because an unusual number of collections follows a forced one.
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
