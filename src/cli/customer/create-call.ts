import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { watchCall } from '../../sdk/watch-call.js';
import { isFinalStatus } from '../../kernel/call-state.js';
import type { Call } from '../../calls/views/schemas.js';
import { agentValues } from '../agent-options.js';
import type { Output } from '../output.js';
import { CliError, EXIT_FAILURE, EXIT_USAGE } from '../run.js';
import { showCall } from './calls.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import type { Service } from './service.js';

/** Options that say how a new call is conducted, with commander's attribute names. */
export interface ConductOptions {
  agent?: string;
  instruction?: string;
  instructionFile?: string;
  param?: string[];
  outputParameters?: string;
  webhookUrl?: string;
  externalCallId?: string;
}

/** Options of `calls create`. */
export interface NewCallOptions extends ConductOptions {
  to: string;
  idempotencyKey?: string;
  wait?: boolean;
}

const LOOK_EVERY_MS = 1_000;
const RESULT_LOOKS = 15;

export async function createCall(service: Service, out: Output, options: NewCallOptions): Promise<void> {
  const { to, idempotencyKey, wait } = options;
  const conduct = await conductOf(options);
  if (conduct.agent_id === undefined && conduct.instruction === undefined) {
    throw new CliError('--agent, --instruction or --instruction-file is required.', EXIT_USAGE);
  }
  const body = { to_phone_number: to, ...conduct };
  // One key per invocation, so that a retry after a lost response places no second call.
  const call = await service.client.post('/calls', { body, idempotencyKey: idempotencyKey ?? `cli-${randomUUID()}` });
  if (!wait) return showCreated(out, call);
  if (!out.json) out.line({}, call.call_id);
  const ended = await waitForEnd(service, out, call);
  await showCall(out, '', ended);
  if (ended.status !== 'COMPLETED') throw notCompleted(ended);
}

/**
 * Returns the fields of a request that say how a call is conducted.
 * @throws CliError when a file cannot be read, or a parameter has no name
 */
export async function conductOf(options: ConductOptions) {
  const { agent, param, outputParameters, webhookUrl, externalCallId } = options;
  const { instruction } = await agentValues({
    instruction: options.instruction,
    instructionFile: options.instructionFile,
  });
  return omitUndefined({
    agent_id: agent,
    instruction,
    input_parameters: param === undefined ? undefined : JSON.stringify(parseParameters(param)),
    output_parameters: outputParameters,
    webhook_url: webhookUrl,
    external_call_id: externalCallId,
  });
}

async function showCreated(out: Output, call: Call): Promise<void> {
  const { call_id, status, to_phone_number, from_phone_number } = call;
  const shown = { call_id, status, to_phone_number, from_phone_number };
  await out.record(`Call placed. Follow it with: callwright calls tail ${call_id}`, call, shown);
}

/** Prints each new status (only in the output for people). Returns the ended call with its results. */
async function waitForEnd({ client }: Service, out: Output, placed: Call): Promise<Call> {
  let call = placed;
  let shownStatus = '';
  for await (call of watchCall(client, placed.call_id)) {
    if (call.status !== shownStatus && !out.json) out.line({}, call.status);
    shownStatus = call.status;
  }
  // The summary is written only after the call has ended.
  for (let looks = 0; looks < RESULT_LOOKS; looks++) {
    call = await client.get('/calls/{call_id}', { params: { call_id: call.call_id } });
    if (call.status !== 'COMPLETED' || call.summary !== undefined) break;
    await sleep(LOOK_EVERY_MS);
  }
  return call;
}

function notCompleted({ call_id, status, end_reason }: Call): CliError {
  const how = end_reason === undefined ? '' : ` (${end_reason})`;
  const message = isFinalStatus(status)
    ? `The call ended with status ${status}${how}.`
    : `The call still has status ${status}.`;
  const facts = { error_code: 'CALL_NOT_COMPLETED', ...omitUndefined({ call_id, status, end_reason }) };
  return new CliError(message, EXIT_FAILURE, { success: false, message, ...facts });
}

/**
 * Parses `name=value` pairs.
 * @throws CliError when a pair has no name or no equals sign
 */
export function parseParameters(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new CliError(`--param ${pair} must have the form name=value.`, EXIT_USAGE);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
