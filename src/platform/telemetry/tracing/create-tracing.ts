import { randomUUID } from 'node:crypto';
import { context, propagation, ROOT_CONTEXT, SamplingDecision, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { baggageUtils, W3CTraceContextPropagator } from '@opentelemetry/core';
import { Resource } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BasicTracerProvider,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import { VERSION } from '../../../kernel/version.js';
import type { TraceSettings } from '../../config/trace-variables.js';
import type { Logger } from '../logger.js';
import { provideTracer } from '../spans.js';
import { CallIds } from './call-ids.js';
import { createCollector } from './collector.js';
import { createOtelTracer } from './otel-tracer.js';
import { createSpanQueue } from './span-queue.js';
import { temporalInterceptors, type TemporalInterceptors } from './temporal.js';

/** How long a process that stops waits until its last spans are sent. */
const LAST_BATCH_MS = 2_000;

export interface Tracing extends TemporalInterceptors {
  /** Sends what waits, for a bounded time, and ends tracing. */
  close(): Promise<void>;
}

/**
 * Starts tracing in this process. Only this folder knows OpenTelemetry, and only a process with a configured collector
 * loads it.
 */
export function createTracing(p: { settings: TraceSettings; role: string; logger: Logger }): Tracing {
  const { settings, role, logger } = p;
  const ofShare = new TraceIdRatioBasedSampler(settings.share);
  const sampler = settings.share >= 1 ? new AlwaysOnSampler() : ofShare;
  const keeps = (traceId: string) =>
    settings.share >= 1 || ofShare.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED;
  const resource = new Resource({
    ...baggageUtils.parseKeyPairsIntoRecord(settings.resourceAttributes),
    'service.name': settings.serviceName ?? `callwright-${role}`,
    'service.version': VERSION,
    'service.instance.id': randomUUID(),
    'callwright.role': role,
  });
  const collector = createCollector({ url: settings.url, headers: settings.headers, logger });
  const queue = createSpanQueue({ collector, sendEveryMs: settings.sendEveryMs, keeps });
  const ids = new CallIds();
  const provider = new BasicTracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: sampler }),
    idGenerator: ids,
    spanProcessors: [queue],
  });
  // Temporal's interceptors use the global objects of the library.
  provider.register({
    contextManager: new AsyncLocalStorageContextManager().enable(),
    propagator: new W3CTraceContextPropagator(),
  });
  const forget = provideTracer(createOtelTracer({ tracer: provider.getTracer('callwright', VERSION), ids, keeps }));
  return {
    ...temporalInterceptors(queue, resource),
    async close() {
      forget();
      const timeout = new Promise<void>((resolve) => setTimeout(resolve, LAST_BATCH_MS).unref());
      await Promise.race([provider.shutdown().catch(() => undefined), timeout]);
      for (const api of [trace, context, propagation]) api.disable();
    },
  };
}
