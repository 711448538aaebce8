import type { Call, CallSummary } from '../../calls/views/schemas.js';
import { formatUsd, type Output } from '../output.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { readPages, type PageOptions } from './lists.js';
import type { Service } from './service.js';

const COLUMNS = {
  call_id: 'Call',
  state: 'Status',
  number: 'Number',
  agent: 'Agent',
  created_at: 'Created',
  duration_seconds: 'Seconds',
  cost: 'Cost USD',
};

/** Options of `calls list`, with commander's attribute names. */
export interface ListCallsOptions extends PageOptions {
  status?: Call['status'];
  direction?: Call['call_direction'];
  agent?: string;
  externalCallId?: string;
  search?: string;
  from?: string;
  to?: string;
}

export async function listCalls({ client }: Service, out: Output, options: ListCallsOptions): Promise<void> {
  const { status, direction, agent, externalCallId, search, from, to, ...paging } = options;
  const filters = { status, direction, agent_id: agent, external_call_id: externalCallId, search, from, to };
  const query = omitUndefined(filters);
  const page = await readPages(client, '/calls', query, paging);
  await out.page(page, COLUMNS, page.data.map(rowOf));
}

export async function getCall({ client }: Service, out: Output, callId: string): Promise<void> {
  await showCall(out, '', await client.get('/calls/{call_id}', { params: { call_id: callId } }));
}

/** Cancels or hangs up a call, and shows which of the two it did. Fails if the call has already ended. */
export async function cancelCall({ client }: Service, out: Output, callId: string): Promise<void> {
  const response = await client.post('/calls/{call_id}/cancel', { params: { call_id: callId } });
  const cancelled = response.result === 'cancelled';
  await out.record(
    cancelled ? 'Call cancelled before it was answered; it is not billed.' : 'Call hung up; it is billed.',
    response,
  );
}

/** Shows all details of a call. In the output for people, the timeline and the transcript follow the fields. */
export async function showCall(out: Output, sentence: string, call: Call): Promise<void> {
  const { timeline, cost_windows: windows, webhook_attempts: attempts, transcription, cost_micros, ...fields } = call;
  const shown = {
    ...fields,
    ...(cost_micros === undefined ? {} : { cost: `${formatUsd(cost_micros)} USD` }),
    held_seconds: windows.reduce((sum, window) => sum + window.held_seconds, 0),
    webhook: attempts
      .map(({ outcome = 'in progress', http_status: http }) => `${outcome} ${http ?? ''}`.trim())
      .join(', '),
  };
  await out.record(sentence, call, shown);
  if (out.json) return;
  const rows = timeline.map(({ details, ...event }) => ({ ...event, details: detailsText(details) }));
  await out.table(rows, { at: 'At', source: 'Source', event: 'Event', details: 'Details' });
  if (transcription) out.line({}, `\n${transcription}`);
}

/** Formats event details on one line. */
export function detailsText(details: Readonly<Record<string, string | number | boolean>> = {}): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(' ');
}

function rowOf(call: CallSummary) {
  const outbound = call.call_direction === 'outbound';
  return {
    ...call,
    state: call.end_reason === undefined ? call.status : `${call.status} (${call.end_reason})`,
    number: outbound ? `to ${call.to_phone_number}` : `from ${call.from_phone_number}`,
    // A temporary agent has no name, and its id tells the reader nothing.
    agent: call.agent_name ?? (call.agent_id.startsWith('agent_tmp_') ? 'temporary' : call.agent_id),
    cost: call.cost_micros === undefined ? '' : formatUsd(call.cost_micros),
  };
}
