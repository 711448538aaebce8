import { useLocation } from 'preact-iso';
import type { UsageResponse } from '../../../billing/statements/schemas.js';
import type { BalanceResponse } from '../../../billing/statements/schemas.js';
import { queryText } from '../api';
import { BarChart } from '../components/bar-chart';
import { Loaded } from '../components/feedback';
import { SelectField } from '../components/fields';
import { PeriodFields } from '../components/period-fields';
import { duration, formatDollars } from '../format';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import { EmptyBalance } from '../shell/empty-balance';
import { useData } from '../use-data';
import { useFilters } from '../use-filters';

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
            <dl class="card facts">
              <dt>Available</dt>
              <dd>{formatDollars(data.available)}</dd>
              <dt>Held for calls in progress</dt>
              <dd>{formatDollars(data.held)}</dd>
              <dt>Total billed</dt>
              <dd>{formatDollars(data.billed)}</dd>
            </dl>
          </>
        )}
      </Loaded>
      <div class="filters">
        <SelectField
          label="Group by"
          name="group_by"
          value={filters.group_by}
          options={[
            { value: 'day', label: 'Day (UTC)' },
            { value: 'agent', label: 'Agent' },
          ]}
          onChange={(group_by) => setFilters({ group_by })}
        />
        <PeriodFields period={filters} onChange={setFilters} />
      </div>
      <Loaded
        of={usage}
        isEmpty={(data) => data.data.length === 0}
        empty="No calls were billed in this period. Without dates, the last 30 days are shown."
      >
        {(data) => <Figures usage={data} />}
      </Loaded>
    </PageLayout>
  );
}

function Figures({ usage }: { usage: UsageResponse }) {
  const rows = usage.data.map((row) => ({ ...row, label: row.day ?? row.agent_name ?? row.agent_id ?? '' }));
  const bars = rows.map(({ label, cost }) => ({
    label: label.replace(/^\d{4}-/, ''),
    value: cost,
    text: formatDollars(cost),
  }));
  return (
    <>
      <div class="card">
        <BarChart bars={bars} title={`Cost by ${usage.group_by}`} />
      </div>
      <div class="table-wrap" tabIndex={0} role="region" aria-label="Usage">
        <table>
          <thead>
            <tr>
              <th scope="col">{usage.group_by === 'day' ? 'Day (UTC)' : 'Agent'}</th>
              <th scope="col" class="number">
                Calls
              </th>
              <th scope="col" class="number">
                Duration
              </th>
              <th scope="col" class="number">
                Cost
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.label}>
                <td>{row.label}</td>
                <td class="number">{row.calls}</td>
                <td class="number">{duration(row.seconds)}</td>
                <td class="number">{formatDollars(row.cost)}</td>
              </tr>
            ))}
            <tr>
              <th scope="row">Total</th>
              <td class="number">{usage.total.calls}</td>
              <td class="number">{duration(usage.total.seconds)}</td>
              <td class="number">{formatDollars(usage.total.cost)}</td>
            </tr>
          </tbody>
        </table>
      </div>
    </>
  );
}

function CsvLink(p: { path: string; query: Record<string, string>; name: string; label: string }) {
  const { mode } = usePortal();
  return (
    <a class="button" href={p.path + queryText({ ...p.query, format: 'csv', mode })} download={p.name}>
      {p.label}
    </a>
  );
}
