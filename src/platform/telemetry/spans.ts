import { channel } from 'node:diagnostics_channel';

/**
 * Facts that a span may state about its work. It has no field for a phone number, a URL, words of a conversation or a text of a
 * customer, and tracing exports no others.
 */
export interface SpanFacts {
  callId?: string;
  /** Only ids of this service's form: a client's own id may contain anything. */
  requestId?: string;
  method?: string;
  route?: string;
  status?: number;
  mode?: string;
  direction?: string;
  carrier?: string;
  operation?: string;
  outcome?: string;
  attempt?: number;
  /** Number of the media stream: 0 for the first stream of a call. */
  stream?: number;
  engine?: string;
  tool?: string;
  endReason?: string;
}

export interface SpanOptions {
  kind?: 'internal' | 'client' | 'server';
  facts?: SpanFacts;
  /** The call that the work is for. Its trace is used if no span is active. */
  callId?: string;
  /** By default the active span. */
  parent?: Span;
  /** In ms since the epoch; by default now. */
  startedAt?: number;
}

/** A piece of work in a trace. */
export interface Span {
  /** Runs work in which this span is the active one. */
  run<T>(work: () => T): T;
  add(facts: SpanFacts): void;
  /** @param p.at in ms since the epoch; by default now */
  end(p?: { failed?: boolean; at?: number }): void;
}

/** The span of an HTTP request. It begins its trace when a call is known, or when it needs an id. */
export interface RequestSpan extends Span {
  rename(name: string): void;
}

/** Makes spans; implemented by the library of traces, which only a process with a configured exporter loads. */
export interface Tracer {
  begin(name: string, options: SpanOptions): Span;
  /** @param p.traceparent header of the client; its trace is linked, never joined */
  beginRequest(p: { startedAt: number; traceparent: string }): RequestSpan;
  joinCall(callId: string, p: { begins: boolean }): void;
  /** The `traceparent` of the active span, or of the call. */
  traceparent(callId?: string): string | undefined;
  /** The trace of the active span, unless it is not decided yet. */
  activeTraceId(): string | undefined;
}

const tracers = channel('callwright:tracer');

/** The tracer of this process; undefined, at next to no cost, if it exports no traces. */
function tracer(): Tracer | undefined {
  if (!tracers.hasSubscribers) return undefined;
  const question: { tracer?: Tracer } = {};
  tracers.publish(question);
  return question.tracer;
}

/** Makes a tracer that of this process. @returns a function that ends this */
export function provideTracer(provided: Tracer): () => void {
  const onQuestion = (question: unknown) => void ((question as { tracer?: Tracer }).tracer = provided);
  tracers.subscribe(onQuestion);
  return () => {
    tracers.unsubscribe(onQuestion);
  };
}

/** Begins a span that ends later; undefined if this process exports no traces. */
export function beginSpan(name: string, options: SpanOptions = {}): Span | undefined {
  return tracer()?.begin(name, options);
}

/** Begins the span of a request to this process; undefined if this process exports no traces. */
export function beginRequestSpan(p: Parameters<Tracer['beginRequest']>[0]): RequestSpan | undefined {
  return tracer()?.beginRequest(p);
}

/**
 * Runs work in a span. Without traces only the work runs.
 * @param work gets the span, to add facts that it finds out
 */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  const span = beginSpan(name, options);
  if (span === undefined) return work(undefined);
  let failed = true;
  try {
    const result = await span.run(() => work(span));
    failed = false;
    return result;
  } finally {
    span.end({ failed });
  }
}

/**
 * Makes the request in progress part of a call's trace.
 * @param p.begins whether the request places the call, so that its span is the first of the trace
 */
export function joinTraceOfCall(callId: string, { begins = false } = {}): void {
  tracer()?.joinCall(callId, { begins });
}

/** The `traceparent` to send with a request; undefined if this process exports no traces. */
export function traceparentOf(callId?: string): string | undefined {
  return tracer()?.traceparent(callId);
}

/** For log lines. */
export function activeTraceId(): string | undefined {
  return tracer()?.activeTraceId();
}
