import { useLocation } from 'preact-iso';
import type { CallSummary } from '../../../calls/views/schemas.js';
import { CALL_FILTERS, CallFilterFields } from '../components/calls/call-filters';
import { CallsTable } from '../components/calls/calls-table';
import { PlaceCallLink } from '../components/calls/place-call-link';
import { Empty, Loaded } from '../components/feedback';
import { Icon } from '../components/icon';
import { Pager } from '../components/pager';
import { PageLayout } from '../layout';
import { usePortal } from '../session';
import { useFilters } from '../use-filters';
import { useList } from '../use-list';
import { useLiveReload } from '../use-live-reload';

export function CallsPage() {
  const { mode } = usePortal();
  const { url } = useLocation();
  const { filters, setFilters } = useFilters(CALL_FILTERS);
  // The service would look for an empty value.
  const given = Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, value || undefined]));
  const { list: calls, cursor } = useList<CallSummary>(`${mode} ${url}`, '/calls', given);
  const isFiltered = Object.values(filters).some((value) => value !== '');
  useLiveReload(calls.data?.data, calls.reload);

  return (
    <PageLayout
      title="Calls"
      actions={
        <button type="button" class="button" onClick={calls.reload}>
          <Icon name="refresh" /> Refresh
        </button>
      }
    >
      <CallFilterFields filters={filters} onChange={setFilters} />
      <Loaded
        of={calls}
        isEmpty={(list) => list.data.length === 0}
        empty={isFiltered ? <NoneFound onClear={() => setFilters(CALL_FILTERS)} /> : <NoneYet />}
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

function NoneFound({ onClear }: { onClear: () => void }) {
  return (
    <Empty
      icon="search"
      title="No calls found"
      actions={
        <button type="button" class="button" onClick={onClear}>
          Clear filters
        </button>
      }
    >
      A search finds words that were said, the end of a phone number, and external IDs.
    </Empty>
  );
}

function NoneYet() {
  return (
    <Empty icon="calls" title="No calls yet" actions={<PlaceCallLink class="button button-main" />}>
      Each call appears here while it happens: its words, its cost, the data it collected and the webhook with its
      result. Your application places calls with <code>POST /outbound_call</code>.
    </Empty>
  );
}
