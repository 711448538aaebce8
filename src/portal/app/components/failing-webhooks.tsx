import { useEffect } from 'preact/hooks';
import type { FailingWebhook, FailingWebhooks as Answer } from '../../../webhooks/schemas.js';
import { words } from '../format';
import { usePortal } from '../session';
import { useData } from '../use-data';
import { Failure } from './feedback';
import { Time } from './values';

/** Polls while an endpoint is failing, for at most ten minutes, so that the notice disappears after a success. */
const READ_EVERY_MS = 15_000;
const MOST_READS = 40;

/** Lists failing webhook endpoints; renders nothing if there are none. `only` limits it to one endpoint. */
export function FailingWebhooks({ only }: { only?: string }) {
  const { api, mode } = usePortal();
  const failing = useData(mode, (signal) => api.get<Answer>('/failing_webhooks', {}, signal));
  const shown = (failing.data?.data ?? []).filter(({ url }) => only === undefined || url === only);
  const isFailing = shown.length > 0;
  const readsAgain = isFailing || failing.state === 'failed';

  useEffect(() => {
    if (!readsAgain) return undefined;
    let reads = 0;
    const reading = setInterval(() => {
      if (reads++ < MOST_READS) failing.reload();
    }, READ_EVERY_MS);
    return () => clearInterval(reading);
  }, [readsAgain]);

  if (failing.state === 'failed') return <Failure>{failing.error.message}</Failure>;
  if (!isFailing) return null;
  return (
    <section class="notice notice-bad" aria-label="Failing webhooks">
      <h2>{shown.length === 1 ? 'A receiver takes no webhooks' : `${shown.length} receivers take no webhooks`}</h2>
      {shown.map((each) => (
        <Receiver key={each.url} of={each} />
      ))}
      <p>
        <a href="/portal/webhooks?state=failed">See the failed deliveries</a>. This notice goes when the next one is
        accepted.
      </p>
    </section>
  );
}

function Receiver({ of: failing }: { of: FailingWebhook }) {
  const { failed_deliveries: count } = failing;
  return (
    <p>
      <strong class="breakable">{failing.url}</strong>: {count < 100 ? count : '100 or more'} events given up since{' '}
      <Time at={failing.since} />
      {failing.last_delivered_at === undefined ? (
        ', and none accepted before'
      ) : (
        <>
          , after the last success at <Time at={failing.last_delivered_at} />
        </>
      )}
      . Last error: {errorOf(failing)}, <a href={`/portal/calls/${failing.last_call_id}`}>in this call</a>.
    </p>
  );
}

function errorOf({ last_error: error, last_http_status: status }: FailingWebhook): string {
  if (status !== undefined && (error === 'status' || error === 'redirect')) return `status ${status}`;
  return error === 'timeout' ? 'no answer within 5 seconds' : words(error ?? 'unknown');
}
