import type { Command } from 'commander';
import { ApiError } from '../../sdk/api-error.js';
import { AGENT_OPTION_NAMES } from '../agent-options.js';
import { CliError, EXIT_FAILURE, EXIT_UNAUTHORIZED, EXIT_UNAVAILABLE, EXIT_USAGE } from '../run.js';
import { DEMO_KEYS, type Service } from './service.js';

/** Option names that differ from the field names. */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  ...AGENT_OPTION_NAMES,
  to_phone_number: 'to',
  agent_id: 'agent',
  agent: 'draft-file',
  input_parameters: 'param',
  expires_at: 'expires',
};

/** Names of faults that concern no single option. */
const WHOLES: ReadonlySet<string> = new Set(['body', 'request']);

/**
 * Converts an API error to a CLI error that names the invalid option and suggests a remedy. Returns other errors
 * unchanged.
 */
export function explainError(error: unknown, service: Service, command: Command): unknown {
  if (!(error instanceof ApiError)) return error;
  const { status, code } = error;
  const { baseUrl, urlSource, keySource } = service;
  const errorObject = error.body ?? { success: false, message: error.message, error_code: code };
  const failure = (exitCode: number, message = error.message) => new CliError(message, exitCode, errorObject);

  if (code === 'UNREACHABLE' || code === 'TIMEOUT') {
    return failure(EXIT_UNAVAILABLE, `${error.message} The URL comes from ${urlSource}; use --url for another one.`);
  }
  if (status === 401) return failure(EXIT_UNAUTHORIZED, `${error.message} The API key comes from ${keySource}.`);
  if (status === 403 && keySource === DEMO_KEYS.test) {
    return failure(EXIT_FAILURE, `${error.message} The API key is ${keySource}; npm start prints its live key, too.`);
  }
  if (status >= 502 || code === 'RATE_LIMIT_EXCEEDED') return failure(EXIT_UNAVAILABLE);
  if (code === 'UNKNOWN')
    return failure(EXIT_FAILURE, `${error.message} Check that ${baseUrl} (${urlSource}) is the Callwright service.`);
  if (status === 500 && error.requestId !== undefined) {
    return failure(EXIT_FAILURE, `${error.message} Request id: ${error.requestId}.`);
  }
  const faults = error.faults.map(({ param, message }) =>
    WHOLES.has(param) ? message : `${nameOf(param, command)}: ${message}`,
  );
  if (faults.length > 0) return failure(EXIT_USAGE, faults.join('\n       '));
  return failure(code === 'MISSING_PARAMS' ? EXIT_USAGE : EXIT_FAILURE);
}

/** Returns the option or argument that sets a field, or the field's name if there is none. */
function nameOf(field: string, command: Command): string {
  const names = [OPTION_NAMES[field], field.replaceAll('_', '-')].map((name) => `--${name}`);
  const option = names.find((name) => command.options.some(({ long }) => long === name));
  if (option !== undefined) return option;
  const isArgument = command.registeredArguments.some((argument) => argument.name() === field);
  return isArgument ? `<${field}>` : field;
}
