import {
  OpenTelemetryInboundInterceptor,
  OpenTelemetryInternalsInterceptor,
  OpenTelemetryOutboundInterceptor,
} from '@temporalio/interceptors-opentelemetry/lib/workflow';
import type { WorkflowInboundCallsInterceptor, WorkflowInterceptors } from '@temporalio/workflow';

type Inbound = Required<WorkflowInboundCallsInterceptor>;

/**
 * Makes no spans of validations and queries. A replay does not repeat them, and the ids of spans come from the random
 * numbers of the workflow: those of all later spans would differ when another worker takes the workflow over.
 */
class RepeatableInbound extends OpenTelemetryInboundInterceptor {
  override validateUpdate(...[input, next]: Parameters<Inbound['validateUpdate']>): void {
    next(input);
  }

  override async handleQuery(...[input, next]: Parameters<Inbound['handleQuery']>): Promise<unknown> {
    return next(input);
  }
}

/** The interceptors that a traced workflow bundle contains. */
export const interceptors = (): WorkflowInterceptors => ({
  inbound: [new RepeatableInbound()],
  outbound: [new OpenTelemetryOutboundInterceptor()],
  internals: [new OpenTelemetryInternalsInterceptor()],
});
