import { useLocation } from 'preact-iso';
import type { UsageResponse } from '../../../billing/statements/schemas.js';
import type { BalanceResponse } from '../../../billing/statements/schemas.js';
import { queryText } from '../api';
import { PlaceCallLink } from '../components/calls/place-call-link';
import { Empty, Loaded } from '../components/feedback';
import { FilterSelect, PeriodFields } from '../components/filters';
import { Table } from '../components/pager';
import { Icon } from '../components/icon';
import { UsageChart } from '../components/usage/usage-chart';
import { rowsOf } from '../components/usage/usage-shape';
import { duration, formatDollars } from '../format';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import { EmptyBalance } from '../shell/empty-balance';
import { useData } from '../use-data';
import { useFilters } from '../use-filters';

const GROUPS = [
  { value: 'day', label: 'Day (UTC)' },
  { value: 'agent', label: 'Agent' },
];

export function UsagePage() {
  const { api, mode } = usePortal();
  const { url } = useLocation();
  const { filters, setFilters } = useFilters({ group_by: 'day', from: '', to: '' });
  const usage = useData(`${mode} ${url}`, (signal) => api.get<UsageResponse>('/usage', filters, signal));
  const balance = useData(mode, (signal) => api.get<BalanceResponse>('/balance', {}, signal));

  return (
    <PageLayout
      title="Usage"
      actions={
        <>
          <CsvLink path="/usage" query={filters} name="usage.csv" label="Export usage (CSV)" />
          <CsvLink
            path="/ledger"
            query={{ from: filters.from, to: filters.to }}
            name="ledger.csv"
            label="Export ledger (CSV)"
          />
        </>
      }
    >
      <Loaded of={balance}>
        {(data) => (
          <>
            <EmptyBalance balance={data} />
            <dl class="card figures">
              {[
                ['Available', data.available],
                ['Held for calls in progress', data.held],
                ['Total billed', data.billed],
              ].map(([name, amount]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{formatDollars(Number(amount))}</dd>
                </div>
              ))}
            </dl>
          </>
        )}
      </Loaded>
      <div class="filters">
        <FilterSelect label="Group by" name="group_by" options={GROUPS} filters={filters} onChange={setFilters} />
        <PeriodFields filters={filters} onChange={setFilters} />
      </div>
      <Loaded
        of={usage}
        isEmpty={(data) => data.data.length === 0}
        empty={
          <Empty icon="usage" title="No calls were billed in this period">
            Calls are billed by the second, and each day with calls becomes a column here. Without dates, the last 30
            days are shown. <PlaceCallLink />
          </Empty>
        }
      >
        {(data) => <Figures usage={data} />}
      </Loaded>
    </PageLayout>
  );
}

function Figures({ usage }: { usage: UsageResponse }) {
  const { to } = usePortal();
  const rows = rowsOf(usage.data);
  // The chart runs from the oldest day to the newest; the table lists the newest first, as the list of calls does.
  const listed = usage.group_by === 'day' ? [...rows].reverse() : rows;
  return (
    <>
      <section class="card" aria-label="Cost">
        <h2>{usage.group_by === 'day' ? 'Cost by day' : 'Cost by agent'}</h2>
        <UsageChart rows={rows} by={usage.group_by} />
      </section>
      <Table
        label="Usage"
        head={[usage.group_by === 'day' ? 'Day (UTC)' : 'Agent', 'Calls', 'Duration', 'Cost']}
        numeric={['Calls', 'Duration', 'Cost']}
      >
        {listed.map((row) => (
          <tr key={row.key}>
            <td class="wide breakable">
              {row.key.startsWith('agent_') ? <a href={to(`/agents/${row.key}`)}>{row.name}</a> : row.name}
            </td>
            <td class="number">{row.calls}</td>
            <td class="number">{duration(row.seconds)}</td>
            <td class="number">{formatDollars(row.cost, 4)}</td>
          </tr>
        ))}
        <tr>
          <th scope="row">Total</th>
          <td class="number">{usage.total.calls}</td>
          <td class="number">{duration(usage.total.seconds)}</td>
          <td class="number">{formatDollars(usage.total.cost, 4)}</td>
        </tr>
      </Table>
    </>
  );
}

function CsvLink(p: { path: string; query: Record<string, string>; name: string; label: string }) {
  const { mode } = usePortal();
  return (
    <a class="button" href={p.path + queryText({ ...p.query, format: 'csv', mode })} download={p.name}>
      <Icon name="download" /> {p.label}
    </a>
  );
}
