import type { Attributes, Exception, Link, Span, SpanContext, SpanStatus, TimeInput } from '@opentelemetry/api';

/** The call whose trace a request joins. */
export interface JoinedCall {
  callId: string;
  /** Whether the request's span is the first of the trace. */
  begins: boolean;
}

/**
 * The span of a request, which starts late: when the request names a call whose trace it joins, or when something needs
 * its id. Until then it keeps what it gets.
 */
export class DeferredSpan implements Span {
  #name: string;
  #attributes: Attributes = {};
  #started: Span | undefined;
  /** The parent of what follows, if it is not this span. */
  #successor: Span | undefined;
  readonly #start: (name: string, attributes: Attributes, call?: JoinedCall) => Span;

  constructor(name: string, start: (name: string, attributes: Attributes, call?: JoinedCall) => Span) {
    this.#name = name;
    this.#start = start;
  }

  /** Whether the trace is decided. */
  get isStarted(): boolean {
    return this.#started !== undefined;
  }

  /** Joins the trace of a call. @returns false if the trace was decided before */
  join(call: JoinedCall): boolean {
    if (this.#started !== undefined) return false;
    this.#started = this.#start(this.#name, this.#attributes, call);
    return true;
  }

  get #span(): Span {
    return (this.#started ??= this.#start(this.#name, this.#attributes));
  }

  /** Makes another span the parent of what follows in the context of this one. */
  continueIn(successor: Span): void {
    this.#successor = successor;
  }

  spanContext(): SpanContext {
    return (this.#successor ?? this.#span).spanContext();
  }

  setAttribute(key: string, value: Attributes[string] & {}): this {
    return this.setAttributes({ [key]: value });
  }

  setAttributes(attributes: Attributes): this {
    if (this.#started === undefined) Object.assign(this.#attributes, attributes);
    else this.#started.setAttributes(attributes);
    return this;
  }

  updateName(name: string): this {
    this.#name = name;
    this.#started?.updateName(name);
    return this;
  }

  addEvent(name: string, attributesOrTime?: Attributes | TimeInput, time?: TimeInput): this {
    this.#span.addEvent(name, attributesOrTime, time);
    return this;
  }

  addLink(link: Link): this {
    this.#span.addLink(link);
    return this;
  }

  addLinks(links: Link[]): this {
    this.#span.addLinks(links);
    return this;
  }

  setStatus(status: SpanStatus): this {
    this.#span.setStatus(status);
    return this;
  }

  recordException(exception: Exception, time?: TimeInput): void {
    this.#span.recordException(exception, time);
  }

  isRecording(): boolean {
    return this.#started?.isRecording() ?? true;
  }

  end(at?: TimeInput): void {
    this.#span.end(at);
  }
}
