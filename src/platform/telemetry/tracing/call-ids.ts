import { RandomIdGenerator, type IdGenerator } from '@opentelemetry/sdk-trace-base';
import type { CallTrace } from '../../../kernel/call-trace.js';

/** Random ids, except for the first span of a call's trace, whose ids derive from the call's. */
export class CallIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #next: CallTrace | undefined;

  generateTraceId = (): string => this.#next?.traceId ?? this.#random.generateTraceId();
  generateSpanId = (): string => this.#next?.rootSpanId ?? this.#random.generateSpanId();

  /** Runs a function that starts the first span of a call's trace. */
  beginning<T>(call: CallTrace, start: () => T): T {
    this.#next = call;
    try {
      return start();
    } finally {
      this.#next = undefined;
    }
  }
}
