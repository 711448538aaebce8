import { useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { CALL_STATUSES, isFinalStatus } from '../../../kernel/call-state.js';
import type { CallSummary } from '../../../calls/views/schemas.js';
import { Loaded } from '../components/feedback';
import { SelectField, TextField } from '../components/fields';
import { Pager, Table, useCursor } from '../components/pager';
import { PeriodFields } from '../components/period-fields';
import { Status, Time } from '../components/values';
import { duration, formatDollars } from '../format';
import { endReasonLabel, labelOf } from '../labels';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import type { ListPage } from '../types';
import { useData } from '../use-data';
import { useFilters } from '../use-filters';

const ANY = { value: '', label: 'Any' };
const STATUSES = [ANY, ...CALL_STATUSES.map((value) => ({ value, label: labelOf(value) }))];
const DIRECTIONS = [ANY, { value: 'outbound', label: 'Outbound' }, { value: 'inbound', label: 'Inbound' }];
/** Polling interval while a call on the page is in progress. */
const LIVE_EVERY_MS = 3_000;

export function CallsPage() {
  const { api, mode, to } = usePortal();
  const { url } = useLocation();
  const { filters, setFilters } = useFilters({
    status: '',
    direction: '',
    agent_id: '',
    external_call_id: '',
    from: '',
    to: '',
  });
  const key = `${mode} ${url}`;
  const cursor = useCursor(key);
  const calls = useData(`${key} ${cursor.cursor ?? ''}`, (signal) =>
    api.get<ListPage<CallSummary>>('/calls', { ...filters, limit: 25, cursor: cursor.cursor }, signal),
  );
  const isLive = calls.data?.data.some(({ status }) => !isFinalStatus(status)) ?? false;
  useEffect(() => {
    if (!isLive) return undefined;
    const timer = setInterval(calls.reload, LIVE_EVERY_MS);
    return () => clearInterval(timer);
  }, [isLive, calls.reload]);

  return (
    <PageLayout
      title="Calls"
      actions={
        <button type="button" class="button" onClick={calls.reload}>
          Refresh
        </button>
      }
    >
      <div class="filters" role="search" aria-label="Filter calls">
        <SelectField
          label="Status"
          name="status"
          value={filters.status}
          options={STATUSES}
          onChange={(status) => setFilters({ status })}
        />
        <SelectField
          label="Direction"
          name="direction"
          value={filters.direction}
          options={DIRECTIONS}
          onChange={(direction) => setFilters({ direction })}
        />
        <TextField
          label="Agent ID"
          name="agent_id"
          value={filters.agent_id}
          onChange={(agent_id) => setFilters({ agent_id })}
        />
        <TextField
          label="External ID"
          name="external_call_id"
          value={filters.external_call_id}
          onChange={(external_call_id) => setFilters({ external_call_id })}
        />
        <PeriodFields period={filters} onChange={setFilters} />
      </div>
      <Loaded
        of={calls}
        isEmpty={(list) => list.data.length === 0}
        empty={
          <>
            No calls found. <a href={to('')}>Place a test call</a> or change the filters.
          </>
        }
      >
        {(list) => (
          <>
            <Table
              label="Calls"
              head={['Created', 'Status', 'Direction', 'From', 'To', 'Agent', 'Duration', 'Cost']}
              numeric={['Duration', 'Cost']}
            >
              {list.data.map((call) => (
                <Row key={call.call_id} call={call} />
              ))}
            </Table>
            <Pager of={list} cursor={cursor} />
          </>
        )}
      </Loaded>
    </PageLayout>
  );
}

function Row({ call }: { call: CallSummary }) {
  const { to } = usePortal();
  return (
    <tr>
      <td>
        <a href={to(`/calls/${call.call_id}`)}>
          <Time at={call.created_at} />
        </a>
      </td>
      <td>
        <Status of={call.status} /> <span class="quiet">{endReasonLabel(call.end_reason)}</span>
      </td>
      <td>{labelOf(call.call_direction)}</td>
      <td>{call.from_phone_number || '–'}</td>
      <td>{call.to_phone_number || '–'}</td>
      <td>{call.agent_name ?? 'Temporary agent'}</td>
      <td class="number">{call.duration_seconds === undefined ? '–' : duration(call.duration_seconds)}</td>
      <td class="number">{call.cost === undefined ? '–' : formatDollars(call.cost)}</td>
    </tr>
  );
}
