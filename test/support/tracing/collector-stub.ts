import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as definitions from '@opentelemetry/otlp-transformer/build/src/generated/root';

type Attributes = Readonly<Record<string, string>>;

/** A span as a collector gets it. */
export interface ReceivedSpan {
  name: string;
  traceId: string;
  spanId: string;
  /** Empty for the first span of a trace. */
  parentId: string;
  startMs: number;
  endMs: number;
  attributes: Attributes;
  /** Attributes of the process. */
  resource: Attributes;
  /** Trace ids of other traces. */
  links: string[];
  failed: boolean;
}

interface Message {
  resourceSpans: { resource: Attributed; scopeSpans: { spans: SpanMessage[] }[] }[];
}
/** Texts and whole numbers, the only kinds that the service sends. */
interface AnyValue {
  stringValue?: string;
  intValue?: string;
}
interface Attributed {
  attributes: { key: string; value: AnyValue }[];
}
interface SpanMessage extends Attributed {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  links: { traceId: string }[];
  status: { code: string } | null;
}

interface MessageType {
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): unknown;
}

/** The official definitions of the protocol, from the package of the version that the service sends with. */
const Request = (
  definitions as unknown as {
    opentelemetry: { proto: { collector: { trace: { v1: { ExportTraceServiceRequest: MessageType } } } } };
  }
).opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;

export type CollectorStub = Awaited<ReturnType<typeof startCollectorStub>>;

/**
 * Starts a collector of OpenTelemetry, which decodes what it gets by the protocol's definitions.
 * @param p.answer overrides the status of its responses
 * @param p.host the address on which it listens
 */
export async function startCollectorStub({
  answer = () => 200,
  host = '127.0.0.1',
}: { answer?: () => number; host?: string } = {}) {
  const spans: ReceivedSpan[] = [];
  const faults: string[] = [];
  const bodies: Buffer[] = [];
  const headers: Record<string, unknown>[] = [];

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const status = answer();
      response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
      headers.push(request.headers);
      if (request.method !== 'POST' || request.url !== '/v1/traces') faults.push(`${request.method} ${request.url}`);
      if (request.headers['content-type'] !== 'application/x-protobuf') faults.push('content type');
      if (status !== 200) return;
      const body = Buffer.concat(chunks);
      bodies.push(body);
      try {
        spans.push(...decode(body));
      } catch (error) {
        faults.push(String(error));
      }
    });
  }).listen(0, host);
  await once(server, 'listening');

  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    spans,
    /** Requests that break the protocol. */
    faults,
    /** Everything that arrived, as text, to search for what must not be in it. */
    text: () => bodies.map((body) => body.toString('latin1')).join('\n'),
    headers,
    ofTrace: (traceId: string) => spans.filter((span) => span.traceId === traceId),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function decode(body: Buffer): ReceivedSpan[] {
  const message = Request.toObject(Request.decode(body), {
    longs: String,
    enums: String,
    bytes: Buffer,
    defaults: true,
  });
  return (message as Message).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        name: span.name,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentId: hex(span.parentSpanId),
        startMs: Number(BigInt(span.startTimeUnixNano) / 1_000n) / 1_000,
        endMs: Number(BigInt(span.endTimeUnixNano) / 1_000n) / 1_000,
        attributes: attributesOf(span),
        resource: attributesOf(resource),
        links: span.links.map((link) => hex(link.traceId)),
        failed: span.status?.code === 'STATUS_CODE_ERROR',
      })),
    ),
  );
}

const hex = (bytes: unknown) => Buffer.from(bytes as Uint8Array).toString('hex');

function attributesOf({ attributes }: Attributed): Attributes {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, textOf(value)]));
}

function textOf({ stringValue, intValue }: AnyValue): string {
  return stringValue ?? intValue ?? '';
}
