import type { TimelineEvent } from '../../../../calls/views/schemas.js';
import { Table } from '../pager';

/** The carrier's events as they were stored, in its own words. They have no phone numbers. */
export function RawCarrierEvents({ timeline }: { timeline: readonly TimelineEvent[] }) {
  const events = timeline.filter(({ source }) => source === 'carrier');
  if (events.length === 0) return null;
  return (
    <details class="more">
      <summary>Raw events of the carrier ({events.length})</summary>
      <Table label="Events of the carrier" head={['Number', 'Event', 'Time of the carrier', 'Received', 'Fields']}>
        {events.map(({ at, event, sequence, details: { received_at: received, ...fields } = {} }, index) => (
          <tr key={index}>
            <td>{sequence ?? '–'}</td>
            <td class="mono">{event}</td>
            <td class="mono">{at}</td>
            <td class="mono">{received === undefined ? '–' : String(received)}</td>
            <td class="wide mono">
              {Object.entries(fields)
                .map(([name, value]) => `${name}=${value}`)
                .join(' ')}
            </td>
          </tr>
        ))}
      </Table>
    </details>
  );
}
