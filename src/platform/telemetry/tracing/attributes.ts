import type { Attributes } from '@opentelemetry/api';
import type { ReadableSpan, TimedEvent } from '@opentelemetry/sdk-trace-base';
import type { SpanFacts } from '../spans.js';

/** The attribute of each fact; by the conventions of OpenTelemetry where they have one. */
const NAMES: { readonly [Fact in keyof SpanFacts]-?: string } = {
  callId: 'callwright.call_id',
  requestId: 'callwright.request_id',
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  mode: 'callwright.mode',
  direction: 'callwright.direction',
  carrier: 'callwright.carrier',
  operation: 'callwright.operation',
  outcome: 'callwright.outcome',
  attempt: 'callwright.attempt',
  stream: 'callwright.stream',
  engine: 'callwright.engine',
  tool: 'callwright.tool',
  endReason: 'callwright.end_reason',
};

/** Attributes of Temporal's interceptors. The id of a workflow is that of its call. */
const OF_TEMPORAL = ['temporalWorkflowId', 'temporalActivityId', 'run_id', 'workflowType'];
const EXPORTED: ReadonlySet<string> = new Set([...Object.values(NAMES), ...OF_TEMPORAL]);

export function attributesOf(facts: SpanFacts): Attributes {
  return Object.fromEntries(
    Object.entries(facts).flatMap(([fact, value]) =>
      value === undefined ? [] : [[NAMES[fact as keyof SpanFacts], value as string | number]],
    ),
  );
}

/**
 * Returns a span with the attributes above only, and without the texts of errors, in which phone numbers and addresses
 * may occur.
 */
export function withoutTexts(span: ReadableSpan): ReadableSpan {
  const { name, kind, parentSpanId, startTime, endTime, duration, ended, resource, instrumentationLibrary } = span;
  return {
    name,
    kind,
    spanContext: () => span.spanContext(),
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    startTime,
    endTime,
    duration,
    ended,
    resource,
    instrumentationLibrary,
    status: { code: span.status.code },
    attributes: Object.fromEntries(Object.entries(span.attributes).filter(([key]) => EXPORTED.has(key))),
    links: span.links.map((link) => ({ context: link.context })),
    events: span.events.filter((event) => event.name === 'exception').map(typeOnly),
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** The class of an error; it is a name in our code, or in that of a library. */
function typeOnly({ name, time, attributes }: TimedEvent): TimedEvent {
  const type = attributes?.['exception.type'];
  return { name, time, attributes: type === undefined ? {} : { 'exception.type': type } };
}
