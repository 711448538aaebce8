import { useEffect } from 'preact/hooks';
import type { FailingWebhook, FailingWebhooks } from '../../../../webhooks/schemas.js';
import { usePortal } from '../../session';
import { useData } from '../../use-data';
import { Failure } from '../feedback';
import { Time } from '../values';
import { remedyOf, responseOf } from './attempt-response';

/**
 * Polling interval while an endpoint is failing, for at most ten minutes, so that the notice disappears after a
 * success.
 */
const READ_EVERY_MS = 15_000;
const MAX_READS = 40;

/** Lists failing webhook endpoints; renders nothing if there are none. `only` limits it to one endpoint. */
export function FailingWebhooksNotice({ only }: { only?: string }) {
  const { api, mode, to } = usePortal();
  const failing = useData(mode, (signal) => api.get<FailingWebhooks>('/failing_webhooks', {}, signal));
  const shown = (failing.data?.data ?? []).filter(({ url }) => only === undefined || url === only);
  const isFailing = shown.length > 0;
  const readsAgain = isFailing || failing.state === 'failed';

  useEffect(() => {
    if (!readsAgain) return undefined;
    let reads = 0;
    const reading = setInterval(() => {
      if (reads++ < MAX_READS) failing.reload();
    }, READ_EVERY_MS);
    return () => clearInterval(reading);
  }, [readsAgain]);

  if (failing.state === 'failed') return <Failure>{failing.error.message}</Failure>;
  if (!isFailing) return null;
  return (
    <section class="notice notice-bad" aria-label="Failing webhooks">
      <h2>{shown.length === 1 ? 'A webhook endpoint is failing' : `${shown.length} webhook endpoints are failing`}</h2>
      {shown.map((each) => (
        <FailingEndpoint key={each.url} of={each} />
      ))}
      <p>
        <a href={to('/webhooks?state=failed')}>View failed deliveries</a>. This notice disappears after the next
        successful delivery.
      </p>
    </section>
  );
}

function FailingEndpoint({ of: failing }: { of: FailingWebhook }) {
  const { to } = usePortal();
  const { failed_deliveries: count, last_error: error, last_http_status: http_status } = failing;
  const last = { error, http_status };
  return (
    <p>
      <strong class="breakable">{failing.url}</strong>: {count < 100 ? count : '100 or more'} failed events since{' '}
      <Time at={failing.since} />
      {failing.last_delivered_at === undefined ? (
        ', no successful delivery before'
      ) : (
        <>
          , last successful delivery at <Time at={failing.last_delivered_at} />
        </>
      )}
      . Last response, <a href={to(`/calls/${failing.last_call_id}#webhook`)}>in this call</a>: {responseOf(last)}.{' '}
      {remedyOf(last)}
    </p>
  );
}
