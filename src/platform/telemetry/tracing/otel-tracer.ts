import * as otel from '@opentelemetry/api';
import { TRACE_PARENT_HEADER, W3CTraceContextPropagator } from '@opentelemetry/core';
import { traceOfCall } from '../../../kernel/call-trace.js';
import type { RequestSpan, Span, SpanFacts, SpanOptions, Tracer } from '../spans.js';
import { attributesOf } from './attributes.js';
import type { CallIds } from './call-ids.js';
import { DeferredSpan, type JoinedCall } from './deferred-span.js';

const KINDS = { internal: otel.SpanKind.INTERNAL, client: otel.SpanKind.CLIENT, server: otel.SpanKind.SERVER };

/** A span with the context in which it is active. */
class TracedSpan implements RequestSpan {
  readonly context: otel.Context;
  readonly #span: otel.Span;

  constructor(span: otel.Span, parent: otel.Context) {
    this.#span = span;
    this.context = otel.trace.setSpan(parent, span);
  }

  run<T>(work: () => T): T {
    return otel.context.with(this.context, work);
  }

  add(facts: SpanFacts): void {
    this.#span.setAttributes(attributesOf(facts));
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  end({ failed = false, at }: { failed?: boolean; at?: number } = {}): void {
    if (failed) this.#span.setStatus({ code: otel.SpanStatusCode.ERROR });
    this.#span.end(at === undefined ? undefined : new Date(at));
  }
}

/**
 * Creates the tracer of this process on OpenTelemetry.
 * @param p.keeps whether a trace is kept; every process decides the same, because it depends on the id only
 */
export function createOtelTracer(p: {
  tracer: otel.Tracer;
  ids: CallIds;
  keeps: (traceId: string) => boolean;
}): Tracer {
  const { tracer, ids, keeps } = p;
  const propagator = new W3CTraceContextPropagator();

  /** The context of work for a call whose first span another process may have. */
  function contextOfCall(callId: string): otel.Context {
    const call = traceOfCall(callId);
    if (call === undefined) return otel.ROOT_CONTEXT;
    const { traceId, rootSpanId: spanId } = call;
    const traceFlags = keeps(traceId) ? otel.TraceFlags.SAMPLED : otel.TraceFlags.NONE;
    return otel.trace.setSpanContext(otel.ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
  }

  /** The active context. If no trace is decided there, it is that of the call. */
  function activeContext(callId: string | undefined): otel.Context {
    const active = otel.context.active();
    const span = otel.trace.getSpan(active);
    if (callId === undefined) return active;
    if (span instanceof DeferredSpan) span.join({ callId, begins: false });
    return span === undefined ? contextOfCall(callId) : active;
  }

  function begin(name: string, options: SpanOptions): Span {
    const { kind = 'internal', callId, parent, startedAt, facts } = options;
    const context = parent instanceof TracedSpan ? parent.context : activeContext(callId);
    const attributes = attributesOf({ ...(callId === undefined ? {} : { callId }), ...facts });
    const startTime = startedAt === undefined ? {} : { startTime: new Date(startedAt) };
    return new TracedSpan(tracer.startSpan(name, { kind: KINDS[kind], attributes, ...startTime }, context), context);
  }

  /**
   * The client's trace, as a link. Its sampling flag is dropped, because it would decide nothing here.
   */
  function linksTo(traceparent: string): otel.Link[] {
    const carrier = { [TRACE_PARENT_HEADER]: traceparent };
    const theirs = otel.trace.getSpanContext(propagator.extract(otel.ROOT_CONTEXT, carrier, otel.defaultTextMapGetter));
    return theirs === undefined ? [] : [{ context: { ...theirs, traceFlags: otel.TraceFlags.NONE } }];
  }

  function startRequest(
    p: { name: string; attributes: otel.Attributes; startedAt: number; traceparent: string },
    joined: JoinedCall | undefined,
  ): otel.Span {
    const options = {
      kind: otel.SpanKind.SERVER,
      attributes: { ...p.attributes, ...(joined === undefined ? {} : attributesOf({ callId: joined.callId })) },
      links: linksTo(p.traceparent),
      startTime: new Date(p.startedAt),
    };
    const call = joined && traceOfCall(joined.callId);
    if (call === undefined) return tracer.startSpan(p.name, options, otel.ROOT_CONTEXT);
    if (!joined?.begins) return tracer.startSpan(p.name, options, contextOfCall(joined?.callId ?? ''));
    return ids.beginning(call, () => tracer.startSpan(p.name, options, otel.ROOT_CONTEXT));
  }

  /**
   * Begins the trace of a call whose request was answered before the call was stored. Later work of the request, such as
   * starting the workflow, belongs to this trace.
   */
  function beginLate(callId: string, request: DeferredSpan): void {
    const call = traceOfCall(callId);
    // The carrier's request joins the trace when it is read, and again when the call is stored.
    if (call === undefined || request.spanContext().traceId === call.traceId) return;
    const options = { attributes: attributesOf({ callId }), links: [{ context: request.spanContext() }] };
    const span = ids.beginning(call, () => tracer.startSpan('late request', options, otel.ROOT_CONTEXT));
    request.continueIn(span);
    span.end();
  }

  return {
    begin,

    beginRequest({ startedAt, traceparent }) {
      const span = new DeferredSpan('request', (name, attributes, joined) =>
        startRequest({ name, attributes, startedAt, traceparent }, joined),
      );
      return new TracedSpan(span, otel.ROOT_CONTEXT);
    },

    joinCall(callId, { begins }) {
      const span = otel.trace.getActiveSpan();
      if (span instanceof DeferredSpan && !span.join({ callId, begins }) && begins) beginLate(callId, span);
    },

    traceparent(callId) {
      const carrier: Record<string, string> = {};
      propagator.inject(activeContext(callId), carrier, otel.defaultTextMapSetter);
      return carrier[TRACE_PARENT_HEADER];
    },

    activeTraceId() {
      const span = otel.trace.getActiveSpan();
      if (span === undefined || (span instanceof DeferredSpan && !span.isStarted)) return undefined;
      return span.spanContext().traceId;
    },
  };
}
