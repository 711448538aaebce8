import { useLocation } from 'preact-iso';
import { useEffect } from 'preact/hooks';
import { isFinalStatus } from '../../../kernel/call-state.js';
import type { CallSummary } from '../../../calls/views/schemas.js';
import { CALL_FILTERS, CallFilterFields } from '../components/call-filters';
import { CallsTable } from '../components/calls-table';
import { Loaded } from '../components/feedback';
import { Pager, useCursor } from '../components/pager';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import type { ListPage } from '../types';
import { useData } from '../use-data';
import { useFilters } from '../use-filters';

/** Polling interval while a call on the page is in progress. */
const LIVE_EVERY_MS = 3_000;

export function CallsPage() {
  const { api, mode, to } = usePortal();
  const { url } = useLocation();
  const { filters, setFilters } = useFilters(CALL_FILTERS);
  const key = `${mode} ${url}`;
  const cursor = useCursor(key);
  // The service would look for an empty value.
  const given = Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, value || undefined]));
  const calls = useData(`${key} ${cursor.cursor ?? ''}`, (signal) =>
    api.get<ListPage<CallSummary>>('/calls', { ...given, limit: 25, cursor: cursor.cursor }, signal),
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
      <CallFilterFields filters={filters} onChange={setFilters} />
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
            <CallsTable calls={list.data} />
            <Pager of={list} cursor={cursor} />
          </>
        )}
      </Loaded>
    </PageLayout>
  );
}
