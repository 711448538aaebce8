import { useLocation } from 'preact-iso';
import type { ListedWebhookDelivery } from '../../../webhooks/schemas.js';
import { FailingWebhooksNotice } from '../components/webhooks/failing-webhooks';
import { Empty, Loaded } from '../components/feedback';
import { anyOf, FilterSelect } from '../components/filters';
import { Pager, Table } from '../components/pager';
import { Signing } from '../components/webhooks/signing';
import { Status, Time } from '../components/values';
import { callName } from '../labels';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import { useFilters } from '../use-filters';
import { useList } from '../use-list';

const STATES = anyOf(['pending', 'delivered', 'failed']);

export function WebhooksPage() {
  const { mode } = usePortal();
  const { url } = useLocation();
  const { filters, setFilters } = useFilters({ state: '' });
  const { list: deliveries, cursor } = useList<ListedWebhookDelivery>(`${mode} ${url}`, '/webhook_deliveries', filters);
  return (
    <PageLayout title="Webhooks">
      <FailingWebhooksNotice />
      <Signing />
      <div class="filters">
        <FilterSelect label="Status" name="state" options={STATES} filters={filters} onChange={setFilters} />
      </div>
      <Loaded
        of={deliveries}
        isEmpty={(list) => list.data.length === 0}
        empty={<NoDeliveries state={filters.state} onShowAll={() => setFilters({ state: '' })} />}
      >
        {(list) => (
          <>
            <Deliveries deliveries={list.data} />
            <Pager of={list} cursor={cursor} />
          </>
        )}
      </Loaded>
    </PageLayout>
  );
}

function Deliveries({ deliveries }: { deliveries: readonly ListedWebhookDelivery[] }) {
  const { to } = usePortal();
  return (
    <Table
      label="Webhook deliveries"
      head={['Call', 'Status', 'Attempts', 'URL', 'Last attempt']}
      numeric={['Attempts']}
      cards
    >
      {deliveries.map((delivery) => (
        <tr role="row" key={delivery.call_id}>
          <td role="cell" class="clipped" title={delivery.call === undefined ? '' : callName(delivery.call)}>
            <a href={to(`/calls/${delivery.call_id}#webhook`)}>
              {delivery.call === undefined ? <code>{delivery.call_id}</code> : callName(delivery.call)}
            </a>
          </td>
          <td role="cell">
            <Status of={delivery.state} />
          </td>
          <td role="cell" class="number">
            {delivery.attempts}
          </td>
          <td role="cell" class="clipped" title={delivery.url}>
            {delivery.url || '–'}
          </td>
          <td role="cell">
            <Time at={delivery.last_attempt_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function NoDeliveries({ state, onShowAll }: { state: string; onShowAll: () => void }) {
  const { to } = usePortal();
  if (state === '') {
    return (
      <Empty icon="webhooks" title="No webhooks yet">
        When a call ends, its result is sent to your server: status, summary, transcript and the extracted data. Set the
        webhook URL of <a href={to('/agents')}>an agent</a>, or <code>webhook_url</code> in a request. While you
        develop, <code>npx callwright webhooks listen</code> receives them on your machine.
      </Empty>
    );
  }
  const all = (
    <button type="button" class="button" onClick={onShowAll}>
      Show all
    </button>
  );
  return (
    <Empty icon="webhooks" title={`No ${state} deliveries`} actions={all}>
      Each delivery is attempted up to four times before it fails.
    </Empty>
  );
}
