import type { Resource } from '@opentelemetry/resources';
import type { SpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { ClientInterceptors } from '@temporalio/client';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryWorkflowClientInterceptor,
} from '@temporalio/interceptors-opentelemetry';
import type { WorkerOptions } from '@temporalio/worker';

export interface TemporalInterceptors {
  clientInterceptors: ClientInterceptors;
  /** For a worker with the workflow bundle that has the interceptors of workflows. */
  workerOptions: Pick<WorkerOptions, 'interceptors' | 'sinks'>;
}

/** Creates the interceptors of Temporal's SDK. They pass the trace on in headers of workflows and activities. */
export function temporalInterceptors(queue: SpanProcessor, resource: Resource): TemporalInterceptors {
  return {
    clientInterceptors: { workflow: [new OpenTelemetryWorkflowClientInterceptor()] },
    workerOptions: {
      interceptors: { activity: [(activity) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(activity) })] },
      // Not called during a replay, so no span is sent twice.
      sinks: { exporter: makeWorkflowExporter(queue, resource) },
    },
  };
}
