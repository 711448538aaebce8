import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Call, ConversationSoFar, Trace, Transcript } from '../../../../calls/views/schemas.js';
import { isFinalStatus } from '../../../../kernel/call-state.js';
import { usePortal } from '../../session';
import { useData } from '../../use-data';
import { joinTurns } from './join-turns';

/** Turns after which the trace of a call in progress is read again. */
const TURNS_PER_READ = 3;
const NO_TURNS: Transcript['turns'] = [];
const NO_TRACE: Pick<Trace, 'latencies' | 'tool_calls'> = { latencies: [], tool_calls: [] };

/**
 * Loads the words of a call and keeps them up to date.
 * @param live the latest turns of a call in progress
 */
export function useTranscript(call: Call, live: ConversationSoFar | undefined) {
  const { api, mode } = usePortal();
  const isFinal = isFinalStatus(call.status);
  // A call in progress is updated by events, so its transcript is read once.
  const version = isFinal ? call.updated_at : '';
  const transcript = useData(`${mode} ${call.call_id}`, async (signal) => ({
    version,
    turns: (await api.get<Transcript>(`/calls/${call.call_id}/transcript`, {}, signal)).turns,
  }));
  useReloadOf(transcript.reload, version);
  const stored = transcript.data?.turns ?? NO_TURNS;
  // Until the final transcript is there, the words that came during the call stay.
  const isComplete = isFinal && (live === undefined || transcript.data?.version === version);
  const turns = useMemo(
    () => (isComplete ? stored : joinTurns(stored, live?.turns ?? NO_TURNS)),
    [isComplete, stored, live?.turns],
  );
  return { transcript, turns, interim: isFinal ? [] : (live?.interim ?? []) };
}

/** Loads what the engine did in a call. While the call is in progress, loads it again after every few turns. */
export function useTrace(call: Call, turns: number): Pick<Trace, 'latencies' | 'tool_calls'> {
  const { api, mode } = usePortal();
  const trace = useData(`${mode} ${call.call_id}`, (signal) =>
    api.get<Trace>(`/calls/${call.call_id}/trace`, {}, signal),
  );
  useReloadOf(trace.reload, isFinalStatus(call.status) ? call.updated_at : Math.floor(turns / TURNS_PER_READ));
  return trace.data ?? NO_TRACE;
}

/** Loads data again when there is another version of it. */
function useReloadOf(reload: () => void, version: string | number): void {
  const known = useRef(version);
  useEffect(() => {
    if (known.current !== version) reload();
    known.current = version;
  }, [version]);
}
