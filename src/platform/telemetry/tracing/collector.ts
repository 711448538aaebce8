import { setTimeout as sleep } from 'node:timers/promises';
import { baggageUtils, ExportResultCode, type ExportResult } from '@opentelemetry/core';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { Agent, request } from 'undici';
import { USER_AGENT } from '../../egress/user-agent.js';
import type { Logger } from '../logger.js';
import { report } from '../measurements.js';

/** Time limit for one batch, all attempts included. */
const BATCH_TIMEOUT_MS = 10_000;
const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 500;
const MAX_RESPONSE_BYTES = 65_536;
const LOG_EVERY_MS = 60_000;
/** Statuses after which the protocol allows another attempt. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/**
 * Creates the client of a collector (OTLP over HTTP, protobuf). It limits the time and bytes of a batch: the collector may
 * be slow, broken or hostile, and calls must not notice. It gives a batch up after three attempts, and counts its spans.
 * @param p.headers for each request, as `name=value,name=value`, percent-encoded
 */
export function createCollector(p: { url: string; headers: string | undefined; logger: Logger }): SpanExporter {
  const agent = new Agent({ connections: 1, pipelining: 1, maxResponseSize: MAX_RESPONSE_BYTES, allowH2: false });
  const headers = {
    'user-agent': USER_AGENT,
    ...baggageUtils.parseKeyPairsIntoRecord(p.headers),
    'content-type': 'application/x-protobuf',
  };
  let loggedAt = Number.NEGATIVE_INFINITY;

  /** @returns undefined when the batch may be sent again */
  async function attempt(body: Uint8Array, signal: AbortSignal): Promise<{ rejected: number | 'all' } | undefined> {
    const response = await request(p.url, { method: 'POST', headers, body, signal, dispatcher: agent });
    const { statusCode, body: answer } = response;
    const bytes = answer.arrayBuffer().then(
      (buffer) => new Uint8Array(buffer),
      () => new Uint8Array(),
    );
    // The collector has the spans, even if the rest of its answer is lost.
    if (statusCode >= 200 && statusCode < 300) return { rejected: rejectedSpans(await bytes) };
    await bytes;
    return RETRYABLE.has(statusCode) ? undefined : { rejected: 'all' };
  }

  async function send(spans: ReadableSpan[]): Promise<number> {
    const body = ProtobufTraceSerializer.serializeRequest(spans);
    if (body === undefined) return spans.length;
    const signal = AbortSignal.timeout(BATCH_TIMEOUT_MS);
    for (let tries = 1; tries <= ATTEMPTS; tries += 1) {
      const result = await attempt(body, signal).catch(() => undefined);
      if (result !== undefined) return result.rejected === 'all' ? spans.length : result.rejected;
      if (signal.aborted || tries === ATTEMPTS) break;
      await sleep(FIRST_PAUSE_MS * tries, undefined, { signal }).catch(() => undefined);
    }
    return spans.length;
  }

  function lost(spans: number): void {
    report('spansDropped', { cause: 'not_sent', count: spans });
    if (performance.now() - loggedAt < LOG_EVERY_MS) return;
    loggedAt = performance.now();
    p.logger.warn({ spans }, 'traces not taken by the collector');
  }

  return {
    export(spans, done: (result: ExportResult) => void) {
      send(spans)
        .catch(() => spans.length)
        .then((dropped) => {
          if (dropped > 0) lost(dropped);
          // The library would only log a failure.
          done({ code: ExportResultCode.SUCCESS });
        }, done);
    },
    shutdown: () => agent.destroy(),
  };
}

/** Spans that the collector did not accept although it took the batch. */
function rejectedSpans(answer: Uint8Array): number {
  if (answer.length === 0) return 0;
  try {
    const { partialSuccess } = ProtobufTraceSerializer.deserializeResponse(answer);
    return Math.max(0, Number(partialSuccess?.rejectedSpans ?? 0));
  } catch {
    // Some collectors answer with JSON or text.
    return 0;
  }
}
