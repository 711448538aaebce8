import type { TimelineEvent } from '../../../../calls/views/schemas.js';
import { localClock, utcTime } from '../../format';
import { detailLabel, labelOf } from '../../labels';

/** Everything that happened in a call, each event after those that led to it. */
export function Timeline({ events }: { events: readonly TimelineEvent[] }) {
  return (
    <ol class="timeline">
      {events.map((event, index) => (
        <TimelineRow key={index} event={event} />
      ))}
    </ol>
  );
}

function TimelineRow({ event }: { event: TimelineEvent }) {
  const details = Object.entries(event.details ?? {}).map(([name, value]) => detailLabel(name, value));
  return (
    <li class={`timeline-${event.source}`}>
      <strong>{labelOf(event.event)}</strong> <span class="quiet">{labelOf(event.source)}</span>
      {event.sequence === undefined ? null : <span class="quiet"> #{event.sequence}</span>}{' '}
      <time dateTime={event.at} title={utcTime(event.at)} class="quiet">
        {localClock(event.at)}
      </time>
      {details.length === 0 ? null : (
        <p class="quiet">{details.map(([label, text]) => `${label}: ${text}`).join(' · ')}</p>
      )}
    </li>
  );
}
