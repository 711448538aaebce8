import { useEffect, useState } from 'preact/hooks';
import type { Call } from '../../../../calls/views/schemas.js';
import { usePortal } from '../../session';
import { useAction } from '../../use-action';
import { Failure } from '../feedback';
import { Icon } from '../icon';

/** How long the text about a killed process is shown. The next stream of the call begins meanwhile. */
const SHOWN_MS = 15_000;

/** Kills the media process of a call in progress, in development and for operators, to show that the call continues. */
export function KillProcess({ call }: { call: Call }) {
  const { api, session } = usePortal();
  const [isKilled, setKilled] = useState(false);
  const { failure, act } = useAction(() => setKilled(true));
  useEffect(() => {
    if (!isKilled) return undefined;
    const timer = setTimeout(() => setKilled(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isKilled]);
  if (session?.can_kill_processes !== true || call.status !== 'IN_PROGRESS') return null;
  return (
    <div class="kill">
      <Failure>{failure}</Failure>
      <button
        type="button"
        class="button button-small button-bad"
        title="For operators in development: ends the process that carries the audio of this call with SIGKILL."
        onClick={() => void act(api.post(`/portal/calls/${call.call_id}/kill_media_process`))}
      >
        <Icon name="zap" /> Kill the media process (the call survives)
      </button>{' '}
      <span class="quiet" role="status">
        {isKilled ? 'Killed. Another process takes over the call.' : ''}
      </span>
    </div>
  );
}
