import pino, { type DestinationStream, type Logger } from 'pino';

export type { Logger };

/**
 * A JSON logger for one role. Bodies, headers and phone numbers are never handed to it; the paths below are a second
 * wall for errors of libraries that carry their request with them (axios keeps the Authorization header).
 * @param options.destination standard output by default
 */
export function createLogger(options: { role: string; level: string; destination?: DestinationStream }): Logger {
  const settings = {
    level: options.level,
    base: { role: options.role },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: safeError },
    redact: {
      paths: ['headers', '*.headers', 'authorization', '*.authorization', 'body', '*.body', 'config', '*.config'],
      remove: true,
    },
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}

/** What of an error may be logged: its name, code, message and stack, not the objects libraries hang on it. */
function safeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: withoutNumbers(String(error)) };
  const { code, status } = error as { code?: unknown; status?: unknown };
  return {
    type: error.name,
    message: withoutNumbers(error.message),
    ...(code === undefined ? {} : { code }),
    ...(status === undefined ? {} : { status }),
    stack: error.stack === undefined ? undefined : withoutNumbers(error.stack),
  };
}

/** Carriers repeat the number in their messages ("The number +1415… is not valid"). */
function withoutNumbers(text: string): string {
  return text.replace(/\+\d{6,15}/g, (number) => `${number.slice(0, 5)}***`);
}
