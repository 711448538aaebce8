import type { ComponentChildren } from 'preact';
import type { Call } from '../../../../calls/views/schemas.js';
import { isFinalStatus } from '../../../../kernel/call-state.js';
import { isTemporaryAgent } from '../../../../kernel/ids.js';
import { duration, formatDollars } from '../../format';
import { endReasonLabel, labelOf, nameOfAgent, partyName, providerLabel } from '../../labels';
import { usePortal } from '../../session';
import { CostSoFar } from '../cost-so-far';
import { Copy, Status, Time } from '../values';

/** How a call went: its state, its length and its cost. */
export function CallFigures({ call }: { call: Call }) {
  return (
    <dl class="figures">
      <div>
        <dt>Status</dt>
        <dd aria-live="polite">
          <Status of={call.status} /> <small class="quiet">{endReasonLabel(call.end_reason)}</small>
        </dd>
      </div>
      {call.duration_seconds === undefined ? (
        <div>
          <dt>{isFinalStatus(call.status) ? 'Length' : 'Length and cost'}</dt>
          <dd>
            <CostSoFar call={call} />
          </dd>
        </div>
      ) : (
        <div>
          <dt>Length</dt>
          <dd>{duration(call.duration_seconds)}</dd>
        </div>
      )}
      {call.cost === undefined ? null : (
        <div>
          <dt>Cost</dt>
          <dd>
            {formatDollars(call.cost)} <small class="quiet">at {formatDollars(call.price_per_minute)} per minute</small>
          </dd>
        </div>
      )}
    </dl>
  );
}

/** Facts that are often long. */
const WIDE = ['Agent', 'Call ID', 'External ID', 'Providers'];

/** The facts of a call: who, when, and by what. */
export function Facts({ call }: { call: Call }) {
  const { to } = usePortal();
  const agent = isTemporaryAgent(call.agent_id) ? (
    nameOfAgent(call)
  ) : (
    <a href={to(`/agents/${call.agent_id}`)}>{nameOfAgent(call)}</a>
  );
  // On a desktop, the short facts fill the first row and the beginning of the second.
  const facts: [name: string, value: ComponentChildren][] = [
    ['Direction', labelOf(call.call_direction)],
    ['Engine', call.engine ?? '–'],
    ['From', partyName(call.from_phone_number) || '–'],
    ['To', partyName(call.to_phone_number) || '–'],
    ['Created', <Time at={call.created_at} />],
    ['Answered', <Time at={call.start_time} />],
    ['Agent', agent],
    ['Call ID', <CallId id={call.call_id} />],
  ];
  if (call.external_call_id !== '') facts.push(['External ID', call.external_call_id]);
  if (call.storage !== undefined) facts.push(['Stored', labelOf(call.storage)]);
  if (call.redact !== undefined) facts.push(['Replaced in the words', call.redact.map(labelOf).join(' · ')]);
  if (call.served_by !== undefined) facts.push(['Providers', call.served_by.map(providerLabel).join(', ')]);
  return (
    <dl class="fact-grid">
      {facts.map(([name, value]) => (
        <div key={name} class={WIDE.includes(name) ? 'fact-wide' : ''}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function CallId({ id }: { id: string }) {
  return (
    <>
      <code>{id}</code> <Copy text={id} />
    </>
  );
}
