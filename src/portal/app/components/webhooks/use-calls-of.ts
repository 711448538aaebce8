import type { CallSummary } from '../../../../calls/views/schemas.js';
import type { WebhookDelivery } from '../../../../webhooks/schemas.js';
import { usePortal } from '../../session';
import type { ListPage } from '../../types';
import { useData } from '../../use-data';

/** The service's largest page, so that one request finds the calls of a page of deliveries, unless most calls have none. */
const MOST_CALLS = 100;

/** Loads the calls of deliveries, newest first, by their identifiers. A call that is not found stays without details. */
export function useCallsOf(deliveries: readonly WebhookDelivery[]): ReadonlyMap<string, CallSummary> {
  const { api, mode } = usePortal();
  const newest = deliveries[0];
  const calls = useData(`${mode} ${deliveries.map(({ call_id: id }) => id).join(' ')}`, async (signal) => {
    if (newest === undefined) return [];
    // An event is created after its call. The period ends before `to`.
    const to = new Date(Date.parse(newest.created_at) + 1).toISOString();
    return (await api.get<ListPage<CallSummary>>('/calls', { limit: MOST_CALLS, to }, signal)).data;
  });
  return new Map((calls.data ?? []).map((call) => [call.call_id, call]));
}
