import type { CallSummary } from '../../../../calls/views/schemas.js';
import { duration, formatDollars } from '../../format';
import { endReasonLabel, labelOf, nameOfAgent, partyName } from '../../labels';
import { usePortal } from '../../session';
import { Icon } from '../icon';
import { Status, Time } from '../values';

/**
 * Lists calls: as a table, and on a phone as cards. The link of a row covers the whole row. The roles keep the table a
 * table for screen readers where it is displayed as cards.
 */
export function CallsTable({ calls }: { calls: readonly CallSummary[] }) {
  return (
    <div class="table-wrap calls-wrap" tabIndex={0} role="region" aria-label="Calls">
      <table class="calls" role="table">
        <thead role="rowgroup">
          <tr role="row">
            <Title>Created</Title>
            <Title>Status</Title>
            <Title>From</Title>
            <Title>To</Title>
            <Title>Agent</Title>
            <Title class="number">Length</Title>
            <Title class="number">Cost</Title>
          </tr>
        </thead>
        <tbody role="rowgroup">
          {calls.map((call) => (
            <Row key={call.call_id} call={call} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Title({ class: name = '', children }: { class?: string; children: string }) {
  return (
    <th scope="col" role="columnheader" class={name}>
      {children}
    </th>
  );
}

function Row({ call }: { call: CallSummary }) {
  const { to } = usePortal();
  return (
    <tr role="row">
      <td role="cell" class="call-time">
        <a href={to(`/calls/${call.call_id}`)}>
          <Time at={call.created_at} />
        </a>
      </td>
      <td role="cell" class="call-status">
        <Status of={call.status} /> <span class="quiet">{endReasonLabel(call.end_reason)}</span>
      </td>
      <td role="cell" class="call-from">
        <Icon name={call.call_direction} />
        <span class="unseen">{labelOf(call.call_direction)}, from </span>
        {partyName(call.from_phone_number) || '–'}
      </td>
      <td role="cell" class="call-to">
        {partyName(call.to_phone_number) || '–'}
      </td>
      <td role="cell" class="call-agent" title={call.agent_name ?? ''}>
        {nameOfAgent(call)}
      </td>
      <td role="cell" class="number call-length">
        {call.duration_seconds === undefined ? '–' : duration(call.duration_seconds)}
      </td>
      <td role="cell" class="number call-cost">
        {call.cost === undefined ? '–' : formatDollars(call.cost, 4)}
      </td>
    </tr>
  );
}
