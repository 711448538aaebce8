import { TraceFlags } from '@opentelemetry/api';
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace-base';
import { report } from '../measurements.js';
import { withoutTexts } from './attributes.js';

/** Maximum spans that wait to be sent, 1 kB each at most. Further ones are dropped. */
const MAX_WAITING = 4_096;
const MAX_BATCH = 512;
/** Longer than the collector's client takes. */
const EXPORT_TIMEOUT_MS = 15_000;

/**
 * Sends finished spans in batches, one after the other, from a bounded queue.
 * @param p.keeps whether a trace is kept. Spans of workflows that no request began have no decision yet.
 */
export function createSpanQueue(p: {
  collector: SpanExporter;
  sendEveryMs: number;
  keeps: (traceId: string) => boolean;
}): SpanProcessor {
  const { collector, keeps } = p;
  let waiting = 0;
  const counted: SpanExporter = {
    export(spans, done) {
      waiting -= spans.length;
      collector.export(spans, done);
    },
    shutdown: () => collector.shutdown(),
  };
  const batches = new BatchSpanProcessor(counted, {
    maxQueueSize: MAX_WAITING,
    maxExportBatchSize: MAX_BATCH,
    scheduledDelayMillis: p.sendEveryMs,
    exportTimeoutMillis: EXPORT_TIMEOUT_MS,
  });
  return {
    onStart: () => undefined,
    onEnd(span) {
      const { traceFlags, traceId } = span.spanContext();
      if ((traceFlags & TraceFlags.SAMPLED) === 0 || !keeps(traceId)) return;
      if (waiting >= MAX_WAITING) return report('spansDropped', { cause: 'queue_full', count: 1 });
      waiting += 1;
      batches.onEnd(withoutTexts(span));
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}
