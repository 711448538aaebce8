import { hostname } from 'node:os';
import pino, { type DestinationStream, type Logger } from 'pino';
import { VERSION } from '../../kernel/version.js';
import { activeTraceId } from './spans.js';

export type { Logger };

/**
 * Creates a JSON logger for one role. Every line names the role, the instance (host and process) and the version, and
 * the trace of the work that logs it, if this process exports traces. Our
 * code never logs bodies, headers or phone numbers. `redact` also removes the request, with its Authorization header,
 * from errors of libraries that attach it, such as axios.
 * @param options.destination standard output by default
 */
export function createLogger(options: { role: string; level: string; destination?: DestinationStream }): Logger {
  const settings = {
    level: options.level,
    base: { role: options.role, instance: `${hostname()}:${process.pid}`, version: VERSION },
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: traceOfLine,
    serializers: { err: safeError },
    redact: {
      paths: ['headers', '*.headers', 'authorization', '*.authorization', 'body', '*.body', 'config', '*.config'],
      remove: true,
    },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}

function traceOfLine(): { traceId?: string } {
  const traceId = activeTraceId();
  return traceId === undefined ? {} : { traceId };
}

/** Returns the parts of an error to log: name, code, message and stack, without the objects that libraries attach. */
function safeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: withoutAddresses(String(error)) };
  const { code, status } = error as { code?: unknown; status?: unknown };
  return {
    type: error.name,
    message: withoutAddresses(error.message),
    ...(code === undefined ? {} : { code }),
    ...(status === undefined ? {} : { status }),
    stack: error.stack === undefined ? undefined : withoutAddresses(error.stack),
  };
}

/**
 * Masks phone numbers and e-mail addresses, because carriers and mail servers repeat them in their messages ("The number
 * +1415… is not valid"). Numbers may be part of a URL or have no plus sign; those with one may be written with spaces,
 * hyphens, dots and parentheses.
 */
function withoutAddresses(text: string): string {
  return text
    .replace(/(\+|%2B)(\d(?:[ .()-]{0,2}\d){3})(?:[ .()-]{0,2}\d){2,11}/gi, '$1$2***')
    .replace(/(?<![\w.])(?=\d{10,15}(?!\w))(\d{4})\d{6,11}/g, '$1***')
    .replace(/(?<![\w.+-])[\w.+-]+@[a-z][\w.-]*/gi, '***@***');
}
