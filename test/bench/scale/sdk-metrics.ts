/** The work of a worker's cache of workflows, as the metrics of Temporal's SDK count it. */
export interface CacheFigures {
  cached: number;
  evicted: number;
  /** Workflows that were replayed, because they were not in the cache. */
  replayed: number;
  /** Tasks that failed, such as those of a replay that differs from its history. */
  failed: number;
  /** Holds for the next window of a call that were made. */
  holds: number;
}

const NAMES: Readonly<Record<keyof CacheFigures, string>> = {
  cached: 'temporal_sticky_cache_size',
  evicted: 'temporal_sticky_cache_total_forced_eviction_total',
  replayed: 'temporal_workflow_task_replay_latency_seconds_count',
  failed: 'temporal_workflow_task_execution_failed_total',
  holds: 'temporal_activity_execution_latency_seconds_count',
};
const HOLD_LABEL = 'activity_type="extendHold"';

/**
 * Adds up the metrics of one task queue in the text that a worker serves.
 * @param queue the name of the task queue
 */
export function cacheFiguresOf(text: string, queue: string): CacheFigures {
  const lines = text.split('\n').filter((line) => line.includes(`task_queue="${queue}"`));
  const sum = (name: string, label = '') =>
    lines
      .filter((line) => line.startsWith(`${name}{`) && line.includes(label))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  return {
    cached: sum(NAMES.cached),
    evicted: sum(NAMES.evicted),
    replayed: sum(NAMES.replayed),
    failed: sum(NAMES.failed),
    holds: sum(NAMES.holds, HOLD_LABEL),
  };
}

export async function readCacheFigures(address: string, queue: string): Promise<CacheFigures> {
  const response = await fetch(`http://${address}/metrics`);
  return cacheFiguresOf(await response.text(), queue);
}
