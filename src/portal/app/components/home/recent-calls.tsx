import type { CallSummary } from '../../../../calls/views/schemas.js';
import { usePortal } from '../../session';
import { CallsTable } from '../calls/calls-table';

/** The last calls of the mode, with a link to all of them; renders nothing without calls. */
export function RecentCalls({ calls }: { calls: readonly CallSummary[] }) {
  const { to } = usePortal();
  if (calls.length === 0) return null;
  return (
    <section aria-label="Recent calls">
      <div class="card-head">
        <h2>Recent calls</h2>
        <a href={to('/calls')}>All calls</a>
      </div>
      <CallsTable calls={calls} />
    </section>
  );
}
