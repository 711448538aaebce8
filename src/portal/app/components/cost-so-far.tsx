import { useEffect, useState } from 'preact/hooks';
import type { Call } from '../../../calls/views/schemas.js';
import { duration, formatDollars } from '../format';

/** Shows how long a call in progress has lasted and what it will cost if it ends now. The bill counts the carrier's seconds. */
export function CostSoFar({ call }: { call: Call }) {
  const [now, setNow] = useState(Date.now());
  const startedAt = call.status === 'IN_PROGRESS' && call.start_time ? Date.parse(call.start_time) : undefined;
  useEffect(() => {
    if (startedAt === undefined) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [startedAt]);
  if (startedAt === undefined) return <>–</>;
  const seconds = Math.max(0, Math.round((now - startedAt) / 1_000));
  return (
    <>
      {duration(seconds)} so far · about {formatDollars((seconds * call.price_per_minute) / 60)}
    </>
  );
}
