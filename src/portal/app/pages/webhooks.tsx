import { useLocation } from 'preact-iso';
import type { WebhookDelivery } from '../../../webhooks/schemas.js';
import { FailingWebhooksNotice } from '../components/failing-webhooks';
import { Loaded } from '../components/feedback';
import { SelectField } from '../components/fields';
import { Pager, Table, useCursor } from '../components/pager';
import { Signing } from '../components/signing';
import { Status, Time } from '../components/values';
import { PageLayout } from '../layout';
import { labelOf } from '../labels';
import { usePortal } from '../session';
import type { ListPage } from '../types';
import { useData } from '../use-data';
import { useFilters } from '../use-filters';

const STATES = ['', 'pending', 'delivered', 'failed'].map((value) => ({
  value,
  label: value === '' ? 'Any' : labelOf(value),
}));

export function WebhooksPage() {
  const { api, mode, to } = usePortal();
  const { url } = useLocation();
  const { filters, setFilters } = useFilters({ state: '' });
  const key = `${mode} ${url}`;
  const cursor = useCursor(key);
  const deliveries = useData(`${key} ${cursor.cursor ?? ''}`, (signal) =>
    api.get<ListPage<WebhookDelivery>>('/webhook_deliveries', { ...filters, limit: 25, cursor: cursor.cursor }, signal),
  );
  return (
    <PageLayout title="Webhooks">
      <FailingWebhooksNotice />
      <Signing />
      <div class="filters">
        <SelectField
          label="Status"
          name="state"
          value={filters.state}
          options={STATES}
          onChange={(state) => setFilters({ state })}
        />
      </div>
      <Loaded
        of={deliveries}
        isEmpty={(list) => list.data.length === 0}
        empty="No webhooks yet. Set webhook_url in a request or on an agent."
      >
        {(list) => (
          <>
            <Table
              label="Webhook deliveries"
              head={['Event', 'Status', 'Attempts', 'URL', 'Last attempt']}
              numeric={['Attempts']}
            >
              {list.data.map((delivery) => (
                <tr key={delivery.call_id}>
                  <td>
                    <a href={to(`/calls/${delivery.call_id}`)}>
                      <Time at={delivery.created_at} />
                    </a>
                  </td>
                  <td>
                    <Status of={delivery.state} />
                  </td>
                  <td class="number">{delivery.attempts}</td>
                  <td class="wide">{delivery.url || '–'}</td>
                  <td>
                    <Time at={delivery.last_attempt_at} />
                  </td>
                </tr>
              ))}
            </Table>
            <Pager of={list} cursor={cursor} />
          </>
        )}
      </Loaded>
    </PageLayout>
  );
}
