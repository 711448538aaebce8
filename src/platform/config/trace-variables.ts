import { z } from 'zod';

const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
/** Pairs as OpenTelemetry reads them, percent-encoded and separated by commas. */
const PAIRS = /^[\w!#$%&'*+.^`|~-]+=[^\s,;]*(,[\w!#$%&'*+.^`|~-]+=[^\s,;]*)*$/;
const pairs = z
  .string()
  .refine((text) => PAIRS.test(text) && isDecodable(text), 'must be like name=value,name=value, percent-encoded');
const SAMPLERS = ['always_on', 'always_off', 'traceidratio'] as const;

/** Environment variables of traces, with names of OpenTelemetry. */
export const traceVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta({
      description:
        'address of an OpenTelemetry collector; `/v1/traces` is appended. With it or the next one, the API, workers and media servers send [traces](operations/monitor.md#traces)',
      compose: '',
    }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('the whole address for traces, instead of `OTEL_EXPORTER_OTLP_ENDPOINT`'),
  OTEL_EXPORTER_OTLP_HEADERS: pairs.optional().meta({
    description: 'headers for the collector, such as `authorization=Bearer%20…`, percent-encoded, separated by commas',
    secret: 'given',
  }),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(['http/protobuf'], 'must be http/protobuf, the only supported protocol')
    .default('http/protobuf')
    .describe('only `http/protobuf`'),
  OTEL_SERVICE_NAME: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'name of the service in traces', shown: '`callwright-` and the role' }),
  OTEL_RESOURCE_ATTRIBUTES: pairs
    .optional()
    .describe(
      'further attributes of the process in traces, such as `deployment.environment=staging`; `OTEL_SERVICE_NAME` sets `service.name`',
    ),
  OTEL_TRACES_SAMPLER: z
    .enum([...SAMPLERS, ...SAMPLERS.map((name) => `parentbased_${name}` as const)])
    .default('parentbased_always_on')
    .describe(
      'which traces are kept: all, none, or the share in `OTEL_TRACES_SAMPLER_ARG`. `parentbased_` makes no difference, because no client decides it',
    ),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1).meta({ description: 'share of traces to keep' }),
  OTEL_BSP_SCHEDULE_DELAY: z.coerce
    .number()
    .int()
    .min(1)
    .max(60_000)
    .default(5_000)
    .meta({ description: 'interval in ms at which spans are sent' }),
  OTEL_SDK_DISABLED: flag.default(false).meta({ description: 'turns traces off' }),
};

/** Whether all escapes are valid, and none is a control character, which no header may contain. */
function isDecodable(text: string): boolean {
  try {
    return !/\p{Cc}/u.test(decodeURIComponent(text));
  } catch {
    return false;
  }
}

type TraceValues = z.output<z.ZodObject<typeof traceVariables>>;

export type TraceSettings = NonNullable<ReturnType<typeof traceSettings>>;

/** @returns undefined if the service sends no traces */
export function traceSettings(values: TraceValues) {
  const base = values.OTEL_EXPORTER_OTLP_ENDPOINT;
  const url = values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (base && `${base.replace(/\/$/, '')}/v1/traces`);
  if (url === undefined || values.OTEL_SDK_DISABLED) return undefined;
  const sampler = values.OTEL_TRACES_SAMPLER.replace('parentbased_', '') as (typeof SAMPLERS)[number];
  return {
    url,
    /** Headers for the collector, as in the variable. */
    headers: values.OTEL_EXPORTER_OTLP_HEADERS,
    serviceName: values.OTEL_SERVICE_NAME,
    resourceAttributes: values.OTEL_RESOURCE_ATTRIBUTES,
    /** Share of the traces to keep. */
    share: sampler === 'traceidratio' ? values.OTEL_TRACES_SAMPLER_ARG : sampler === 'always_on' ? 1 : 0,
    sendEveryMs: values.OTEL_BSP_SCHEDULE_DELAY,
  };
}
