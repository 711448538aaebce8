import { useRoute } from 'preact-iso';
import { useState } from 'preact/hooks';
import type { Call, ConversationSoFar, TimelineEvent } from '../../../calls/views/schemas.js';
import { CostSoFar } from '../components/cost-so-far';
import { Confirm } from '../components/dialog';
import { Failure, Loaded } from '../components/feedback';
import { Table } from '../components/pager';
import { Copy, Status, Time } from '../components/values';
import { WebhookAttemptsTable } from '../components/webhook-attempts';
import { duration, durationInWords, localClock, formatDollars, utcTime } from '../format';
import { detailLabel, endReasonLabel, labelOf, providerLabel } from '../labels';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import { NotInThisMode } from '../shell/old-link';
import { isFinalStatus } from '../../../kernel/call-state.js';
import { useCall } from '../use-call';
import { notFoundError } from '../use-data';
import { Conversation } from './call-conversation';

export function CallPage() {
  const { api, mode } = usePortal();
  const { params } = useRoute();
  const id = params['id'] ?? '';
  const call = useCall(api, mode, id);
  const notFound = notFoundError(call);
  return (
    <PageLayout
      title={titleOf(call.data)}
      actions={call.data === undefined ? null : <Actions call={call.data} reload={call.reload} />}
    >
      {notFound === undefined ? (
        <Loaded of={call}>{(data) => <Sections call={data} live={call.conversation} reload={call.reload} />}</Loaded>
      ) : (
        <NotInThisMode what="call" path={`/calls/${encodeURIComponent(id)}`} error={notFound} />
      )}
    </PageLayout>
  );
}

function titleOf(call: Call | undefined): string {
  if (call === undefined) return 'Call';
  const [word, number] =
    call.call_direction === 'outbound' ? ['to', call.to_phone_number] : ['from', call.from_phone_number];
  return number === '' ? 'Call' : `Call ${word} ${number}`;
}

function Actions({ call, reload }: { call: Call; reload: () => void }) {
  const { api, session } = usePortal();
  const [asking, setAsking] = useState(false);
  const [failure, setFailure] = useState<string>();
  const act = (path: string) =>
    api.post(`/calls/${call.call_id}/${path}`).then(reload, (error: Error) => setFailure(error.message));
  return (
    <>
      <Failure>{failure}</Failure>
      {isFinalStatus(call.status) ? null : (
        <button type="button" class="button button-bad" onClick={() => void act('cancel')}>
          {call.status === 'IN_PROGRESS' ? 'Hang up' : 'Cancel'}
        </button>
      )}
      {isFinalStatus(call.status) && call.erased_at === undefined ? (
        <button type="button" class="button" onClick={() => setAsking(true)}>
          Erase
        </button>
      ) : null}
      {session?.temporal_ui_url === undefined ? null : (
        <a
          class="button"
          href={`${session.temporal_ui_url}/workflows/${call.workflow_id}`}
          target="_blank"
          rel="noreferrer"
        >
          View workflow in Temporal
        </a>
      )}
      {asking ? (
        <Confirm
          title="Erase this call?"
          text="Phone numbers, instruction, parameters, summary, transcript, recording and stored webhook are deleted permanently. Status, times and cost are kept."
          action="Erase permanently"
          onConfirm={() => act('erase')}
          onClose={() => setAsking(false)}
        />
      ) : null}
    </>
  );
}

function Sections({ call, live, reload }: { call: Call; live: ConversationSoFar | undefined; reload: () => void }) {
  return (
    <>
      <section class="card" aria-label="Summary">
        <p aria-live="polite">
          <Status of={call.status} /> <span class="quiet">{endReasonLabel(call.end_reason)}</span>
        </p>
        {call.summary === undefined ? null : <p>{call.summary}</p>}
        <Facts call={call} />
      </section>
      <div class="columns">
        <section class="card" aria-label="Conversation">
          <h2>Conversation</h2>
          <Conversation call={call} live={live} />
        </section>
        <div>
          <section class="card" aria-label="Extracted data">
            <h2>Extracted data</h2>
            <Data
              json={call.output_parameters ?? live?.output_parameters}
              none={
                isFinalStatus(call.status) ? 'No data was extracted.' : 'Values appear here as the caller gives them.'
              }
            />
          </section>
          <section class="card" aria-label="Timeline">
            <h2>Timeline</h2>
            <ol class="timeline">
              {call.timeline.map((event, index) => (
                <TimelineRow key={index} event={event} />
              ))}
            </ol>
          </section>
        </div>
      </div>
      <section class="card" aria-label="Cost">
        <h2>Cost by window</h2>
        {call.cost_windows.length === 0 ? (
          <p class="quiet">No money was held for this call.</p>
        ) : (
          <Table
            label="Cost by window"
            head={['Window', 'Held at', 'Held', 'Billed', 'Cost']}
            numeric={['Held', 'Billed', 'Cost']}
          >
            {call.cost_windows.map((window) => (
              <tr key={window.window}>
                <td>{window.window + 1}</td>
                <td>
                  <Time at={window.at} />
                </td>
                <td class="number">
                  {window.refusal === undefined ? durationInWords(window.held_seconds) : labelOf(window.refusal)}
                </td>
                <td class="number">
                  {window.billed_seconds === undefined ? '–' : durationInWords(window.billed_seconds)}
                </td>
                <td class="number">
                  {window.billed_micros === undefined ? '–' : formatDollars(window.billed_micros / 1e6)}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </section>
      <section class="card" aria-label="Webhook">
        <h2>Webhook</h2>
        <WebhookAttemptsTable
          callId={call.call_id}
          attempts={call.webhook_attempts}
          final={isFinalStatus(call.status)}
          onSent={reload}
        />
      </section>
    </>
  );
}

function Facts({ call }: { call: Call }) {
  const { to } = usePortal();
  return (
    <dl class="facts">
      <dt>Call ID</dt>
      <dd>
        <code>{call.call_id}</code> <Copy text={call.call_id} />
      </dd>
      <dt>{labelOf(call.call_direction)}: from, to</dt>
      <dd>
        {call.from_phone_number || '–'} → {call.to_phone_number || '–'}
      </dd>
      <dt>Agent</dt>
      <dd>
        {call.agent_name === undefined ? (
          'Temporary agent'
        ) : (
          <a href={to(`/agents/${call.agent_id}`)}>{call.agent_name}</a>
        )}
      </dd>
      <dt>Engine</dt>
      <dd>{call.engine ?? '–'}</dd>
      {call.served_by === undefined ? null : (
        <>
          <dt>Providers</dt>
          <dd>{call.served_by.map(providerLabel).join(', ')}</dd>
        </>
      )}
      <dt>Created</dt>
      <dd>
        <Time at={call.created_at} />
      </dd>
      <dt>Answered</dt>
      <dd>
        <Time at={call.start_time} />
      </dd>
      <dt>Billed</dt>
      <dd>
        {call.duration_seconds === undefined ? <CostSoFar call={call} /> : duration(call.duration_seconds)}
        {call.cost === undefined ? '' : ` · ${formatDollars(call.cost)}`}
        <span class="quiet"> at {formatDollars(call.price_per_minute)} per minute</span>
      </dd>
      {call.external_call_id === '' ? null : (
        <>
          <dt>External ID</dt>
          <dd>{call.external_call_id}</dd>
        </>
      )}
    </dl>
  );
}

function TimelineRow({ event }: { event: TimelineEvent }) {
  const details = Object.entries(event.details ?? {}).map(([name, value]) => detailLabel(name, value));
  return (
    <li>
      <strong>{labelOf(event.event)}</strong> <span class="quiet">{labelOf(event.source)}</span>
      {event.sequence === undefined ? null : <span class="quiet"> #{event.sequence}</span>}
      <br />
      <time dateTime={event.at} title={utcTime(event.at)} class="quiet">
        {localClock(event.at)}
      </time>
      {details.map(([label, text]) => (
        <div key={label} class="quiet">
          {label}: {text}
        </div>
      ))}
    </li>
  );
}

/** Shows a JSON object, which is encoded as a string, as rows. */
export function Data({ json, none }: { json: string | undefined; none: string }) {
  const entries = entriesOf(json);
  if (entries.length === 0) return <p class="quiet">{none}</p>;
  return (
    <dl class="facts">
      {entries.map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value === null ? <span class="quiet">not mentioned</span> : textOf(value)}</dd>
        </>
      ))}
    </dl>
  );
}

function entriesOf(json: string | undefined): [string, unknown][] {
  try {
    const value: unknown = JSON.parse(json ?? '{}');
    return typeof value === 'object' && value !== null ? Object.entries(value) : [];
  } catch {
    return [];
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
